import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { TaskEstimates } from '../../src/aggregation/allocation/task-estimates.ts';
import type { EstimatedTask } from '../../src/aggregation/allocation/task-estimates.ts';
import { seededRandom } from './seeded-random.ts';

const unit: Bounds = { low: 0, high: 1 };

/** Of tasks with these returns and equal weights. */
function estimatesOf(returns: readonly (readonly number[])[], bounds: Bounds | undefined): readonly EstimatedTask[] {
  const estimates = new TaskEstimates(
    returns.map(() => 1 / returns.length),
    bounds,
  );
  for (const [task, values] of returns.entries()) for (const value of values) estimates.add(task, value);
  return estimates.getCurrent() ?? [];
}

function coins(probabilities: readonly number[], tosses: number): number[][] {
  const random = seededRandom(4);
  return probabilities.map((p) => Array.from({ length: tosses }, () => (random() < p ? 1 : 0)));
}

test('tasks have no estimate before the first return', () => {
  expect(new TaskEstimates([0.5, 0.5], unit).getCurrent()).toBeUndefined();
});

test('tasks that differ no more than by chance have equal estimates', () => {
  const tasks = [
    [0, 1, 0, 1],
    [1, 0, 1, 0],
    [0, 0, 0, 1],
    [1, 1, 1, 0],
  ];
  const estimates = estimatesOf(tasks, undefined);
  expect(estimates.map(({ mean }) => mean)).toEqual([0.5, 0.5, 0.5, 0.5]);
  expect(new Set(estimates.map(({ variance }) => variance)).size).toBe(1);
});

test('after many returns the estimate of each task is its own mean', () => {
  const probabilities = [0.1, 0.5, 0.95];
  const tosses = coins(probabilities, 2000);
  for (const [k, { mean, variance }] of estimatesOf(tosses, unit).entries()) {
    const shown = (tosses[k] ?? []).reduce((sum, toss) => sum + toss, 0) / 2000;
    expect(mean).toBeCloseTo(shown, 2);
    expect(variance).toBeCloseTo(shown * (1 - shown), 2);
  }
});

test('a task that was quiet in a few episodes is not taken to be quiet', () => {
  const quiet = (episodes: number): number => {
    const [first, , noisy] = estimatesOf([Array<number>(episodes).fill(1), ...coins([0.9, 0.5], 40)], unit);
    return (first?.variance ?? 0) / (noisy?.variance ?? 1);
  };
  expect(quiet(3)).toBeGreaterThan(0.2);
  expect(quiet(1000)).toBeLessThan(0.02);
  expect(quiet(1000)).toBeGreaterThan(0);
});

test('a task without returns has the mean and the variance of the others', () => {
  const [never, first, second] = estimatesOf([[], [0.4, 0.6], [0.4, 0.6]], undefined);
  expect(never).toEqual({ weight: 1 / 3, mean: 0.5, variance: expect.closeTo(0.02, 12) });
  expect([first?.variance, second?.variance]).toEqual([never?.variance, never?.variance]);
});

test('constant returns have some variance within bounds and none without', () => {
  const constant = [
    [2, 2, 2],
    [5, 5],
  ];
  for (const { variance } of estimatesOf(constant, { low: 0, high: 10 })) expect(variance).toBeGreaterThan(0);
  expect(estimatesOf(constant, undefined)).toEqual([
    { weight: 0.5, mean: 2, variance: 0 },
    { weight: 0.5, mean: 5, variance: 0 },
  ]);
});

test('a task without returns has the mean of others that differ, also where nothing is known to vary', () => {
  expect(estimatesOf([[1], [], [0]], undefined).map(({ mean, variance }) => [mean, variance])).toEqual([
    [1, 0],
    [0.5, 0],
    [0, 0],
  ]);
});

const returns = fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }).map(Math.fround), { maxLength: 12 }), {
  minLength: 1,
  maxLength: 6,
});

test('means lie among the returns, variances are never negative, and the unit of the return does not matter', () => {
  fc.assert(
    fc.property(returns, fc.boolean(), (values, bounded) => {
      const plain = estimatesOf(values, bounded ? unit : undefined);
      const scaled = estimatesOf(
        values.map((task) => task.map((value) => 8 * value)),
        bounded ? { low: 0, high: 8 } : undefined,
      );
      const all = values.flat();
      for (const [k, { mean, variance }] of plain.entries()) {
        expect(mean).toBeGreaterThanOrEqual(Math.min(...all) - 1e-12);
        expect(mean).toBeLessThanOrEqual(Math.max(...all) + 1e-12);
        expect(variance).toBeGreaterThanOrEqual(0);
        expect(scaled[k]).toEqual({ weight: 1 / values.length, mean: 8 * mean, variance: 64 * variance });
      }
    }),
  );
});

test('an unknown task is refused', () => {
  expect(() => new TaskEstimates([1], unit).add(1, 0)).toThrow(RangeError);
});
