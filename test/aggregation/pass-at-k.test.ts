import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimatePassPowerK, estimatePassAtK, averageOverTasks } from '../../src/aggregation/resampling/pass-at-k.ts';
import { SuccessResults } from '../../src/aggregation/results/success-results.ts';

const attempts = fc
  .integer({ min: 1, max: 12 })
  .chain((count) => fc.record({ count: fc.constant(count), successes: fc.nat(count), k: fc.integer({ min: 1, max: count }) }));

/** Which outcomes k attempts have when they are picked among those made: every subset is as likely. */
function subsets({ count, successes }: { count: number; successes: number }, k: number): { any: number; all: number; of: number } {
  let [any, all, of] = [0, 0, 0];
  for (let picked = 0; picked < 2 ** count; picked += 1) {
    const members = Array.from({ length: count }, (_, attempt) => attempt).filter((attempt) => (picked >> attempt) % 2 === 1);
    if (members.length !== k) continue;
    of += 1;
    if (members.some((attempt) => attempt < successes)) any += 1;
    if (members.every((attempt) => attempt < successes)) all += 1;
  }
  return { any, all, of };
}

test('pass@k and pass^k are the shares of subsets of k attempts in which any succeeds, and in which all do', () => {
  fc.assert(
    fc.property(attempts, ({ k, ...made }) => {
      const { any, all, of } = subsets(made, k);
      expect(estimatePassAtK(made, k) ?? Number.NaN).toBeCloseTo(any / of, 12);
      expect(estimatePassPowerK(made, k) ?? Number.NaN).toBeCloseTo(all / of, 12);
    }),
    { numRuns: 50 },
  );
});

test('for one attempt both are the rate of success', () => {
  expect(estimatePassAtK({ count: 8, successes: 3 }, 1)).toBeCloseTo(3 / 8, 15);
  expect(estimatePassPowerK({ count: 8, successes: 3 }, 1)).toBe(3 / 8);
});

test('more attempts than were made have no value', () => {
  expect(estimatePassAtK({ count: 3, successes: 3 }, 4)).toBeUndefined();
  expect(estimatePassPowerK({ count: 3, successes: 3 }, 4)).toBeUndefined();
});

test('large numbers of attempts do not overflow', () => {
  expect(estimatePassAtK({ count: 1_000_000, successes: 10_000 }, 100)).toBeCloseTo(1 - 0.99 ** 100, 3);
  expect(estimatePassPowerK({ count: 1_000_000, successes: 990_000 }, 100)).toBeCloseTo(0.99 ** 100, 3);
});

test('tasks count equally, and their spread makes the interval', () => {
  const rates = Array.from({ length: 40 }, (_, task) => (task % 4) / 3);
  const mean = averageOverTasks(rates, 0.95);
  expect(mean?.value).toBeCloseTo(0.5, 12);
  // The deviation of the rates is √(5/36); 1.96 of it over √40 to either side.
  expect((mean?.high ?? 0) - (mean?.low ?? 0)).toBeCloseTo(2 * 1.96 * Math.sqrt(5 / 36 / 40), 1);
  expect(averageOverTasks(rates, 0.95)).toEqual(mean);
  expect(averageOverTasks([0.3], 0.95)).toEqual({ value: 0.3, low: null, high: null });
  expect(averageOverTasks([0.99, 1], 0.95)).toEqual({ value: expect.closeTo(0.995, 12), low: null, high: null });
  expect(averageOverTasks([], 0.95)).toBeUndefined();
});

const tasks = [
  { name: 'easy', weight: 1 },
  { name: 'hard', weight: 3 },
];

function resultsOf(scores: readonly (readonly [task: number, score: number])[], k: readonly number[] = [1]): SuccessResults {
  const results = new SuccessResults({ threshold: 10, k }, tasks);
  for (const [task, score] of scores) results.add(task, score);
  return results;
}

const six = [
  [0, 12],
  [0, 10],
  [0, 9.99],
  [1, 3],
  [1, 11],
  [1, -4],
] as const;

test('an episode succeeds at the threshold or above', () => {
  const found = resultsOf(six, [1, 2]).computeStatistics(0, 0.95, true);
  expect(found).toMatchObject({
    threshold: 10,
    count: 3,
    rate: 0.5,
    clopperPearson: { method: 'clopper-pearson' },
  });
  expect(found.pass).toMatchObject([
    { k: 1, anyOf: { value: expect.closeTo(0.5, 12) }, allOf: { value: expect.closeTo(0.5, 12) } },
    { k: 2, anyOf: { value: expect.closeTo((1 + 2 / 3) / 2, 12) }, allOf: { value: expect.closeTo(1 / 6, 12) } },
  ]);
  expect(resultsOf(six, [1, 2]).listWarnings(true)).toEqual([]);
});

test('the rate has no interval when returns decided the number of episodes', () => {
  expect(resultsOf(six).computeStatistics(0, 0.95, false)).toMatchObject({ count: 3, clopperPearson: null });
  expect(resultsOf(six).listWarnings(false)).toEqual([]);
  expect(resultsOf(six, [1, 2]).listWarnings(false)).toEqual([
    expect.stringContaining('without bias only for a number of episodes that was fixed in advance'),
  ]);
});

test('an unresolved episode is not counted, and its interval allows for either outcome', () => {
  const without = resultsOf(six).computeStatistics(0, 0.95, true);
  const missing = resultsOf(six).computeStatistics(2, 0.95, true);
  expect(missing).toMatchObject({ count: 3, rate: 0.5 });
  expect(missing.clopperPearson?.low).toBeLessThan(without.clopperPearson?.low ?? Number.NaN);
  expect(missing.clopperPearson?.high).toBeGreaterThan(without.clopperPearson?.high ?? Number.NaN);
  const five = resultsOf([...six, [0, 0], [1, 0]]).computeStatistics(0, 0.95, true);
  expect(missing.clopperPearson?.low).toBe(five.clopperPearson?.low);
});

test('a k beyond the episodes of a task has no value, and the warning names both', () => {
  const results = resultsOf(six.slice(0, 5), [2, 3, 4]);
  const { pass } = results.computeStatistics(0, 0.95, true);
  expect(pass.map(({ anyOf, allOf }) => [anyOf.value === null, allOf.value === null])).toEqual([
    [false, false],
    [true, true],
    [true, true],
  ]);
  expect(pass[1]?.anyOf).toEqual({ value: null, low: null, high: null });
  expect(results.listWarnings(true)).toEqual([expect.stringMatching(/k = 3, 4: .* task "hard" has 2\.$/)]);
});

test('without episodes there is no figure', () => {
  expect(resultsOf([]).computeStatistics(0, 0.95, true)).toEqual({
    threshold: 10,
    count: 0,
    rate: null,
    clopperPearson: null,
    pass: [{ k: 1, anyOf: { value: null, low: null, high: null }, allOf: { value: null, low: null, high: null } }],
  });
});

test('a task that does not exist is an error of the caller', () => {
  expect(() => resultsOf([[2, 0]])).toThrow(RangeError);
});
