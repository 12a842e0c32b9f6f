import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSeedStreams } from '../../src/kernel/seeds.ts';

describe('the seeds of an episode', () => {
  it('depend on the base seed and the index alone', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat({ max: 2 ** 32 - 1 }), (baseSeed, index) => {
        expect(createSeedStreams(baseSeed).seeds(index)).toEqual(createSeedStreams(baseSeed).seeds(index));
      }),
    );
  });

  it('are never shared by two episodes of a suite', () => {
    const streams = createSeedStreams(7);
    const environment = new Set<number>();
    const policy = new Set<number>();
    for (let index = 0; index < 200_000; index += 1) {
      environment.add(streams.seeds(index).environment);
      policy.add(streams.seeds(index).policy);
    }
    expect(environment.size).toBe(200_000);
    expect(policy.size).toBe(200_000);
  });

  it('equal the published ones', () => {
    expect([0, 1, 2, 1_000_000].map((index) => createSeedStreams(1).seeds(index))).toMatchInlineSnapshot(`
      [
        {
          "environment": 1145985553,
          "policy": 2733200841,
        },
        {
          "environment": 1213681467,
          "policy": 3958621312,
        },
        {
          "environment": 453162365,
          "policy": 2499663412,
        },
        {
          "environment": 1842902126,
          "policy": 2299632915,
        },
      ]
    `);
  });

  it('differ between base seeds, and between environment and policy', () => {
    const [one, two] = [createSeedStreams(1), createSeedStreams(2)];
    let equal = 0;
    for (let index = 0; index < 10_000; index += 1) {
      if (one.seeds(index).environment === two.seeds(index).environment) equal += 1;
      if (one.seeds(index).environment === one.seeds(index).policy) equal += 1;
    }
    expect(equal).toBe(0);
  });

  it('draw tasks evenly and without a pattern from one index to the next', () => {
    const streams = createSeedStreams(3);
    const n = 100_000;
    let sum = 0;
    let products = 0;
    for (let index = 0; index < n; index += 1) {
      sum += streams.drawTask(index);
      products += (streams.drawTask(index) - 0.5) * (streams.drawTask(index + 1) - 0.5);
    }
    // Five standard errors of a mean of uniform draws, and of a mean of products of two.
    expect(Math.abs(sum / n - 0.5)).toBeLessThan((5 * Math.sqrt(1 / 12)) / Math.sqrt(n));
    expect(Math.abs(products / n)).toBeLessThan((5 * (1 / 12)) / Math.sqrt(n));
  });
});
