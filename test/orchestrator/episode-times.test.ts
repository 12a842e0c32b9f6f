import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EpisodeTimes } from '../../src/orchestrator/facts/progress.ts';

function timesOf(seconds: readonly number[]): EpisodeTimes {
  const times = new EpisodeTimes();
  for (const one of seconds) times.add(one);
  return times;
}

describe('the times of episodes', () => {
  it('have no summary while there is none', () => {
    expect(new EpisodeTimes().summarise()).toBeUndefined();
  });

  it('are summarised with quantiles that are exact to 2.2 %', () => {
    const seconds = fc.array(fc.double({ min: 2e-6, max: 1e5, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(seconds, (values) => {
        const sorted = values.toSorted((a, b) => a - b);
        const summary = timesOf(values).summarise();
        const nearest = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
        for (const [found, exact] of [
          [summary?.p50 ?? 0, nearest(0.5)],
          [summary?.p95 ?? 0, nearest(0.95)],
        ] as const) {
          expect(found / exact).toBeGreaterThan(1 - 1e-9);
          expect(found / exact).toBeLessThan(1.022);
        }
        expect(summary?.max).toBe(sorted.at(-1));
        expect(summary?.mean).toBeCloseTo(values.reduce((sum, value) => sum + value, 0) / values.length, 6);
      }),
    );
  });

  it('can be unmeasurably short or longer than every bin', () => {
    expect(timesOf([0, 0, 0]).summarise()).toEqual({ mean: 0, p50: 0, p95: 0, max: 0 });
    expect(timesOf([1e9]).summarise()?.max).toBe(1e9);
  });
});
