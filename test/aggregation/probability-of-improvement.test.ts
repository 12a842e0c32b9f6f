import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeProbabilityOfImprovement } from '../../src/aggregation/resampling/probability-of-improvement.ts';
import type { TaskReturns } from '../../src/aggregation/resampling/probability-of-improvement.ts';
import { createSeededRandom } from '../../src/kernel/seeded-random.ts';

const returns = fc.array(fc.oneof(fc.integer({ min: -4, max: 4 }), fc.double({ min: -4, max: 4, noNaN: true })), {
  minLength: 2,
  maxLength: 20,
});
const tasks = fc.array(fc.record({ candidate: returns, baseline: returns }), { minLength: 1, maxLength: 3 });

/** Word for word: every pair of returns is a contest. */
function byDefinition(tasks: readonly { candidate: readonly number[]; baseline: readonly number[] }[]): number {
  const shares = tasks.map(({ candidate, baseline }) => {
    const contests = candidate.flatMap((one) => baseline.map((other): number => (one > other ? 1 : one === other ? 0.5 : 0)));
    return contests.reduce((sum, won) => sum + won, 0) / contests.length;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

const value = (tasks: readonly TaskReturns[]): number => computeProbabilityOfImprovement(tasks, 0.95, 0)?.value ?? Number.NaN;

test('the probability of improvement is the share of pairs that the candidate wins, a tie half, averaged over tasks', () => {
  expect(value([{ candidate: [1, 3], baseline: [2, 0] }])).toBe(0.75);
  expect(value([{ candidate: [1, 1], baseline: [1] }])).toBe(0.5);
  fc.assert(
    fc.property(tasks, (given) => {
      expect(value(given)).toBeCloseTo(byDefinition(given), 12);
    }),
    { numRuns: 50 },
  );
});

test('swapping the arms gives the complement', () => {
  fc.assert(
    fc.property(tasks, (given) => {
      const swapped = given.map(({ candidate, baseline }) => ({ candidate: baseline, baseline: candidate }));
      expect(value(given) + value(swapped)).toBeCloseTo(1, 12);
    }),
    { numRuns: 30 },
  );
});

test('only the order of the returns matters: not their scale, nor how they are listed', () => {
  fc.assert(
    fc.property(tasks, (given) => {
      const plain = computeProbabilityOfImprovement(given, 0.95, 7);
      const stretched = given.map(({ candidate, baseline }) => ({
        candidate: candidate.map((one) => 8 * one).toReversed(),
        baseline: Float64Array.from(baseline, (one) => 8 * one).toReversed(),
      }));
      expect(computeProbabilityOfImprovement(stretched, 0.95, 7)).toEqual(plain);
    }),
    { numRuns: 30 },
  );
});

test('the seed decides the interval, and the value is within', () => {
  const random = createSeededRandom('improvement', 0);
  const given = [{ candidate: Array.from({ length: 50 }, () => random() + 0.1), baseline: Array.from({ length: 40 }, random) }];
  const [first, second] = [computeProbabilityOfImprovement(given, 0.95, 1), computeProbabilityOfImprovement(given, 0.95, 2)];
  expect(computeProbabilityOfImprovement(given, 0.95, 1)).toEqual(first);
  expect(second).not.toEqual(first);
  expect(first?.low).toBeLessThan(first?.value ?? 0);
  expect(first?.high).toBeGreaterThan(first?.value ?? 1);
});

test('returns that do not overlap, or are all the same, leave an interval as wide as their number asks for', () => {
  const higher = [{ candidate: Array<number>(15).fill(500), baseline: Array.from({ length: 40 }, (_, index) => index) }];
  const [lower] = higher.map(({ candidate, baseline }) => [{ candidate: baseline, baseline: candidate }]);
  const same = [{ candidate: [7, 7, 7], baseline: [7, 7, 7] }];
  // 15 wins of 15: Clopper and Pearson give 0.025^(1/15).
  expect(computeProbabilityOfImprovement(higher, 0.95, 0)).toEqual({ value: 1, low: expect.closeTo(0.782, 3), high: 1 });
  expect(computeProbabilityOfImprovement(lower ?? [], 0.95, 0)).toEqual({ value: 0, low: 0, high: expect.closeTo(0.218, 3) });
  expect(computeProbabilityOfImprovement(same, 0.95, 0)).toEqual({ value: 0.5, low: 0, high: 1 });
});

test('the interval covers the true probability about as often as it promises', () => {
  const random = createSeededRandom('improvement coverage', 0);
  let covered = 0;
  for (let run = 0; run < 300; run += 1) {
    const candidate = Array.from({ length: 40 }, () => Math.max(random(), random()));
    const found = computeProbabilityOfImprovement([{ candidate, baseline: Array.from({ length: 40 }, random) }], 0.95, run);
    if (found && found.low <= 2 / 3 && found.high >= 2 / 3) covered += 1;
  }
  // Near 95 %, with a standard deviation of 1.3 % over 300 runs.
  expect(covered / 300).toBeGreaterThan(0.89);
  expect(covered / 300).toBeLessThan(0.99);
});

test('with very many returns the interval is as wide as theory says', () => {
  const random = createSeededRandom('improvement', 1);
  const count = 100_000;
  const given = [{ candidate: Float64Array.from({ length: count }, random), baseline: Float64Array.from({ length: count }, random) }];
  const found = computeProbabilityOfImprovement(given, 0.95, 0);
  // Of two equal continuous distributions U/n² has the variance (2n + 1)/(12n²).
  const expected = 2 * 1.959964 * Math.sqrt(1 / 6 / count);
  const width = (found?.high ?? 0) - (found?.low ?? 0);
  expect(width / expected).toBeGreaterThan(0.85);
  expect(width / expected).toBeLessThan(1.15);
});

test('a task without returns of both arms does not count', () => {
  const played = { candidate: [1, 2], baseline: [0, 3, 1] };
  expect(computeProbabilityOfImprovement([played, { candidate: [], baseline: [1] }], 0.95, 0)).toEqual(
    computeProbabilityOfImprovement([played], 0.95, 0),
  );
  expect(computeProbabilityOfImprovement([{ candidate: [1, 2], baseline: [] }], 0.95, 0)).toBeUndefined();
  expect(computeProbabilityOfImprovement([], 0.95, 0)).toBeUndefined();
});

test('single returns have no interval', () => {
  const once = { candidate: [1], baseline: [0] };
  expect(computeProbabilityOfImprovement([once, once], 0.95, 0)).toBeUndefined();
});
