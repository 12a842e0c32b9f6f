import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeAcceleration, computeBcaEnds, computeBcaInterval, MOST_BCA_VALUES } from '../../src/aggregation/resampling/bca.ts';
import { computePercentileEnds } from '../../src/aggregation/resampling/bootstrap.ts';
import { createSeededRandom } from '../../src/kernel/seeded-random.ts';

const returns = fc.uniqueArray(fc.integer({ min: -1000, max: 1000 }), { minLength: 5, maxLength: 40 });
const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);

test('the closed form of the acceleration is what the jackknife gives', () => {
  fc.assert(
    fc.property(returns, (values) => {
      const total = values.reduce((sum, value) => sum + value, 0);
      const without = values.map((value) => (total - value) / (values.length - 1));
      const centre = without.reduce((sum, mean) => sum + mean, 0) / without.length;
      const power = (exponent: number): number => without.reduce((sum, mean) => sum + (centre - mean) ** exponent, 0);
      const mean = total / values.length;
      expect(computeAcceleration(values.map((value) => value - mean))).toBeCloseTo(power(3) / (6 * power(2) ** 1.5), 9);
    }),
  );
});

test('without bias and acceleration it is the percentile interval', () => {
  const replicates = Array.from({ length: 400 }, (_, position) => position - 199.5);
  const ends = computeBcaEnds(0, 0, replicates, 0.9);
  const plain = computePercentileEnds(replicates, 0.9);
  expect(ends?.low).toBeCloseTo(plain?.low ?? Number.NaN, 9);
  expect(ends?.high).toBeCloseTo(plain?.high ?? Number.NaN, 9);
});

test('a tail to the right moves both ends to the right', () => {
  const replicates = Array.from({ length: 1001 }, (_, position) => position - 500);
  const [straight, moved] = [computeBcaEnds(0, 0, replicates, 0.95), computeBcaEnds(0, 0.05, replicates, 0.95)];
  expect(moved?.low).toBeGreaterThan(straight?.low ?? Number.NaN);
  expect(moved?.high).toBeGreaterThan(straight?.high ?? Number.NaN);
});

test('an estimate outside of all replicates, or an acceleration beyond reason, has no interval', () => {
  expect(computeBcaEnds(5, 0, [1, 2, 3], 0.95)).toBeUndefined();
  expect(computeBcaEnds(0, 0, [1, 2, 3], 0.95)).toBeUndefined();
  expect(computeBcaEnds(2, 10, [1, 2, 3], 0.95)).toBeUndefined();
  expect(computeBcaEnds(2, Number.NaN, [1, 2, 3], 0.95)).toBeUndefined();
});

test('the same returns give the same interval, and moved or stretched ones a moved or stretched one', () => {
  fc.assert(
    fc.property(returns, fc.constantFrom(2, 0.5, 16), fc.constantFrom(-64, 0, 4096), (values, factor, offset) => {
      const plain = computeBcaInterval(sorted(values), 0.95);
      expect(computeBcaInterval(sorted(values), 0.95)).toEqual(plain);
      const changed = computeBcaInterval(
        sorted(values).map((value) => factor * value + offset),
        0.95,
      );
      expect(changed?.low).toBeCloseTo(factor * (plain?.low ?? Number.NaN) + offset, 6);
      expect(changed?.high).toBeCloseTo(factor * (plain?.high ?? Number.NaN) + offset, 6);
    }),
    { numRuns: 20 },
  );
});

test('it covers the mean of a skewed distribution about as often as it says', () => {
  const random = createSeededRandom('bca coverage', 0);
  let covered = 0;
  for (let run = 0; run < 300; run += 1) {
    const values = sorted(Array.from({ length: 60 }, () => -Math.log(1 - random())));
    const found = computeBcaInterval(values, 0.95);
    if (found && found.low <= 1 && found.high >= 1) covered += 1;
  }
  // Near 93.5 % for 60 values of an exponential distribution, with a standard deviation of 1.4 % over 300 runs.
  expect(covered / 300).toBeGreaterThan(0.88);
  expect(covered / 300).toBeLessThan(0.985);
});

test('too few values, too many, equal ones and ones beyond floating point have no interval', () => {
  expect(computeBcaInterval([], 0.95)).toBeUndefined();
  expect(computeBcaInterval([1], 0.95)).toBeUndefined();
  expect(computeBcaInterval([2, 2, 2], 0.95)).toBeUndefined();
  expect(computeBcaInterval([-1e300, 0, 1e300], 0.95)).toBeUndefined();
  expect(
    computeBcaInterval(
      Array.from({ length: MOST_BCA_VALUES + 1 }, (_, value) => value),
      0.95,
    ),
  ).toBeUndefined();
});
