import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeInterquartileMean } from '../../src/aggregation/resampling/interquartile-mean.ts';
import { StratifiedReturns } from '../../src/aggregation/resampling/stratified-returns.ts';
import { createSeededRandom } from '../../src/kernel/seeded-random.ts';

const returns = fc.array(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.double({ min: -9, max: 9, noNaN: true })), {
  minLength: 1,
  maxLength: 30,
});
const suites = fc.array(returns, { minLength: 1, maxLength: 4 });

/** Word for word: sort, cut a quarter off at each end, average what is left. */
function byDefinition(values: readonly number[]): number {
  const cut = Math.floor(values.length / 4);
  const middle = values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

test('the interquartile mean is the mean of the middle half of all values', () => {
  expect(computeInterquartileMean([[9, 1, 2, 3, 4, 5, 6, 100]], 0.95)?.value).toBe(4.5);
  expect(computeInterquartileMean([[7], [1, 2, 3]], 0.95)?.value).toBe(2.5);
  fc.assert(
    fc.property(suites, (tasks) => {
      expect(computeInterquartileMean(tasks, 0.95)?.value).toBeCloseTo(byDefinition(tasks.flat()), 12);
    }),
    { numRuns: 50 },
  );
});

test('equal returns leave no interval, with and without weights of tasks', () => {
  const zeros = Array.from({ length: 7 }, () => 0);
  expect(computeInterquartileMean([zeros], 0.95)).toMatchObject({ value: 0, interval: undefined });
  const strata = new StratifiedReturns([{ weight: 1, values: Float64Array.from(zeros) }]);
  expect(strata.computeInterquartileMean(0.95)).toMatchObject({ value: 0, interval: undefined });
  expect(computeInterquartileMean([[...zeros, 1, 1, 1]], 0.95)?.interval).toMatchObject({ low: 0 });
});

test('the value depends neither on the order of returns nor on that of tasks, and the interval not on the order of returns', () => {
  fc.assert(
    fc.property(suites, (tasks) => {
      const plain = computeInterquartileMean(tasks, 0.95);
      expect(
        computeInterquartileMean(
          tasks.map((values) => values.toReversed()),
          0.95,
        ),
      ).toEqual(plain);
      expect(computeInterquartileMean(tasks.toReversed(), 0.95)?.value).toBe(plain?.value);
    }),
    { numRuns: 30 },
  );
});

test('moved and stretched returns have a moved and stretched value and interval', () => {
  fc.assert(
    fc.property(suites, fc.constantFrom(2, 0.25), fc.constantFrom(0, 1e6), (tasks, factor, offset) => {
      const plain = computeInterquartileMean(tasks, 0.95);
      const changed = computeInterquartileMean(
        tasks.map((values) => values.map((value) => factor * value + offset)),
        0.95,
      );
      const figures = (found: typeof plain): number[] => {
        const { value = Number.NaN, interval } = found ?? {};
        return [value, interval?.low ?? value, interval?.high ?? value];
      };
      const after = figures(changed);
      const errors = figures(plain).map((figure, position) => Math.abs(factor * figure + offset - (after[position] ?? Number.NaN)));
      expect(Math.max(...errors)).toBeLessThan(1e-8);
    }),
    { numRuns: 30 },
  );
});

test('resampling within tasks ignores the differences between them', () => {
  const apart = Array.from({ length: 4 }, (_, task) => [task, task + 0.001, task + 0.002, task + 0.003]);
  const found = computeInterquartileMean(apart, 0.95);
  expect((found?.interval?.high ?? 1) - (found?.interval?.low ?? 0)).toBeLessThan(0.01);
  const together = computeInterquartileMean([apart.flat()], 0.95);
  expect((together?.interval?.high ?? 0) - (together?.interval?.low ?? 0)).toBeGreaterThan(0.5);
});

test('the interval covers the interquartile mean about as often as it promises', () => {
  const random = createSeededRandom('interquartile mean coverage', 0);
  // Of the squares of uniform numbers, whose middle half lies between 1/16 and 9/16: 2·∫ u² over ¼ … ¾.
  const truth = (2 * (0.75 ** 3 - 0.25 ** 3)) / 3;
  let covered = 0;
  for (let run = 0; run < 400; run += 1) {
    const found = computeInterquartileMean([Array.from({ length: 80 }, () => random() ** 2)], 0.95)?.interval;
    if (found && found.low <= truth && found.high >= truth) covered += 1;
  }
  // Near 95 %, with a standard deviation of 1.1 % over 400 runs.
  expect(covered / 400).toBeGreaterThan(0.9);
  expect(covered / 400).toBeLessThan(0.985);
});

test.each([
  [1, 20_000],
  [3, 100_000],
])('with %d tasks and %d values the interval is as wide as theory says', (tasks, count) => {
  const random = createSeededRandom('wide', count);
  const values = Array.from({ length: tasks }, () => Float64Array.from({ length: count / tasks }, random));
  const found = computeInterquartileMean(values, 0.95);
  // The trimmed mean of uniform numbers has the variance of their winsorized values, 1/24, over n/4.
  const expected = 2 * 1.959964 * Math.sqrt(1 / 6 / count);
  const width = (found?.interval?.high ?? 0) - (found?.interval?.low ?? 0);
  expect(width / expected).toBeGreaterThan(0.85);
  expect(width / expected).toBeLessThan(1.15);
  expect(found?.interval?.low).toBeLessThan(found?.value ?? 0);
  expect(found?.interval?.high).toBeGreaterThan(found?.value ?? 1);
  expect(found?.replicates).toBe(count === 20_000 ? 1000 : 999);
});

test('a task with one value has no interval, and no values have no mean', () => {
  expect(computeInterquartileMean([[3], [4]], 0.95)).toEqual({ value: 3.5, interval: undefined, replicates: 0 });
  expect(computeInterquartileMean([], 0.95)).toBeUndefined();
  expect(computeInterquartileMean([[Number.MAX_VALUE, -Number.MAX_VALUE]], 0.95)).toBeUndefined();
});

test('an interval names its method', () => {
  expect(computeInterquartileMean([[1, 2, 3, 4]], 0.9)).toMatchObject({
    interval: { confidence: 0.9, method: 'stratified-bootstrap' },
    replicates: 1000,
  });
});

test('with more values than a resample draws, every task keeps its exact share: the value lies in its own narrow interval', () => {
  const random = createSeededRandom('shares', 1);
  const task = (size: number, mean: number, spread: number): number[] =>
    Array.from({ length: size }, () => mean + spread * (random() - 0.5));
  const found = computeInterquartileMean([task(1013, 25, 1), task(1034, 100, 1), task(989, 200, 1), task(1011, 242, 60)], 0.95);
  expect(found?.interval?.low).toBeLessThanOrEqual(found?.value ?? Number.NaN);
  expect(found?.interval?.high).toBeGreaterThanOrEqual(found?.value ?? Number.NaN);
});
