import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeInterquartileMean } from '../../src/aggregation/resampling/interquartile-mean.ts';
import { StratifiedReturns } from '../../src/aggregation/resampling/stratified-returns.ts';
import { createSeededRandom } from '../../src/kernel/seeded-random.ts';

const stratified = (...strata: readonly (readonly [weight: number, values: readonly number[]])[]): StratifiedReturns =>
  new StratifiedReturns(strata.map(([weight, values]) => ({ weight, values: Float64Array.from(values) })));

const tasks = fc.array(fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 });

test('a task counts by its weight, however many returns it has', () => {
  const returns = stratified([1, [0, 0, 0, 0, 0, 0, 0, 0]], [3, [5, 9]]);
  expect([0.05, 0.25, 0.26, 0.625, 0.63, 0.95].map((share) => returns.quantile(share))).toEqual([0, 0, 5, 5, 9, 9]);
  // Between the quartiles lie three eighths of 5 and one eighth of 9.
  expect(returns.computeInterquartileMean(0.95)?.value).toBeCloseTo((3 * 5 + 9) / 4, 12);
});

test('a quantile at the end of a task is a return of that task despite rounding', () => {
  for (let count = 1; count < 200; count += 1) {
    const quarter = stratified([1, Array<number>(count).fill(0)], [1, [1]], [1, [2]], [1, [3]]);
    expect([quarter.quantile(0.25), quarter.quantile(0.5), quarter.quantile(0.75)]).toEqual([0, 1, 2]);
  }
});

test('a quantile is the least return that is not exceeded with the given probability', () => {
  fc.assert(
    fc.property(tasks, fc.constantFrom(0.05, 0.3, 0.5, 0.95), (values, share) => {
      const weights = values.map((_, task) => task + 1);
      const returns = stratified(...values.map((each, task) => [weights[task] ?? 1, each] as const));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const notAbove = (limit: number): number =>
        values.reduce((sum, each, task) => {
          return sum + ((weights[task] ?? 1) / total) * (each.filter((value) => value <= limit).length / each.length);
        }, 0);
      const quantile = returns.quantile(share);
      expect(notAbove(quantile)).toBeGreaterThanOrEqual(share - 1e-12);
      expect(notAbove(quantile - 1)).toBeLessThan(share + 1e-12);
    }),
    { numRuns: 50 },
  );
});

test('tasks that came up in proportion to their weights have the interquartile mean of all returns', () => {
  fc.assert(
    fc.property(tasks, (values) => {
      // Four of each, so that a quarter of them is a whole number.
      const fourfold = values.map((each) => [...each, ...each, ...each, ...each]);
      const returns = stratified(...fourfold.map((each) => [each.length, each] as const));
      expect(returns.computeInterquartileMean(0.95)?.value).toBeCloseTo(computeInterquartileMean(fourfold, 0.95)?.value ?? Number.NaN, 9);
    }),
    { numRuns: 30 },
  );
});

test('neither the order of the returns of a task nor the unit of the weights matters', () => {
  fc.assert(
    fc.property(tasks, (values) => {
      const found = (factor: number, turned: boolean): unknown => {
        const returns = stratified(...values.map((each, task) => [factor * (task + 1), turned ? each.toReversed() : each] as const));
        return [returns.quantile(0.5), returns.computeInterquartileMean(0.9)];
      };
      expect(found(1, true)).toEqual(found(1, false));
      expect(found(4, false)).toEqual(found(1, false));
    }),
    { numRuns: 15 },
  );
});

test('the bootstrap of tasks out of proportion covers the interquartile mean of the suite about as often as it says', () => {
  const random = createSeededRandom('stratified coverage', 0);
  // Half of the suite's returns are uniform in [0, 1], half in [1, 2]; the middle half is uniform in [½, 1½]. The first task was played five times as often.
  const draw = (count: number, offset: number): number[] => Array.from({ length: count }, () => offset + random());
  let covered = 0;
  for (let run = 0; run < 300; run += 1) {
    const { interval } = stratified([1, draw(100, 0)], [1, draw(20, 1)]).computeInterquartileMean(0.95) ?? {};
    if (interval && interval.low <= 1 && interval.high >= 1) covered += 1;
  }
  // Near 95 %, with a standard deviation of 1.3 % over 300 runs; few returns of the second task make the bootstrap a little too narrow.
  expect(covered / 300).toBeGreaterThan(0.89);
  expect(covered / 300).toBeLessThan(0.99);
});

test('there is no interval while no task has two returns, and nothing without returns or beyond floating point', () => {
  expect(stratified([1, [3]], [1, [4]]).computeInterquartileMean(0.95)).toEqual({ value: 3.5, interval: undefined, replicates: 0 });
  expect(stratified().computeInterquartileMean(0.95)).toBeUndefined();
  expect(stratified().quantile(0.5)).toBeNaN();
  expect(stratified([1, [Number.MAX_VALUE, -Number.MAX_VALUE]]).computeInterquartileMean(0.95)).toBeUndefined();
});
