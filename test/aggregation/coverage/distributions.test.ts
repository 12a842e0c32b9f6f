import { expect, test } from 'vitest';
import * as distributions from '../../../bench/coverage/distributions.ts';
import type { Distribution } from '../../../bench/coverage/distributions.ts';
import { Moments } from '../../../src/aggregation/intervals/moments.ts';
import { createSeededRandom } from '../../../src/kernel/seeded-random.ts';

const { arcsine, bernoulli, beta, cartPole, exponential, lognormal, losing, normal, pareto, rareDisaster, twoPoints, uniform } =
  distributions;
const DRAWS = 200_000;

function drawn({ name, draw }: Distribution): Moments {
  const random = createSeededRandom(name, 1);
  const moments = new Moments();
  for (let i = 0; i < DRAWS; i += 1) moments.add(draw(random));
  return moments;
}

const light = [
  bernoulli(0.05, 0.05),
  losing(0.9, 0.05),
  cartPole(0.85, 15),
  cartPole(0.98, 5),
  rareDisaster(0.01, 0.01),
  twoPoints(0.8, 0.1, 0.005),
  uniform(0.03),
  beta(5, 0.02),
  arcsine(0.05),
  normal(0.1),
  exponential(0.1),
  lognormal(0.5, 0.05),
  pareto(9, 0.1),
];

test.each(light)('draws have the mean and the variance that are stated: $name', (distribution) => {
  const { mean, variance, standardError, min, max } = drawn(distribution);
  expect(Math.abs((mean ?? Infinity) - distribution.mean)).toBeLessThan(5 * (standardError ?? 0));
  expect((variance ?? 0) / distribution.variance).toBeCloseTo(1, 1);
  expect(min).toBeGreaterThanOrEqual(distribution.bounds?.low ?? -Infinity);
  expect(max).toBeLessThanOrEqual(distribution.bounds?.high ?? Infinity);
});

test('heavy-tailed draws have the known mean and variance', () => {
  // SciPy: lognorm.stats(1) and pareto.stats(2.5)
  expect([lognormal(1, 1).mean, lognormal(1, 1).variance]).toEqual([
    expect.closeTo(1.6487212707001282, 12),
    expect.closeTo(4.670774270471604, 12),
  ]);
  expect([pareto(2.5, 1).mean, pareto(2.5, 1).variance]).toEqual([expect.closeTo(5 / 3, 12), expect.closeTo(20 / 9, 12)]);
  for (const distribution of [lognormal(1, 1), pareto(2.5, 1)]) {
    const { mean, standardError } = drawn(distribution);
    expect(Math.abs((mean ?? Infinity) - distribution.mean)).toBeLessThan(5 * (standardError ?? 0));
  }
});
