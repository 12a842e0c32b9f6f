import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Bounds } from '../../src/aggregation/bounds.ts';
import { KeptValues } from '../../src/aggregation/kept-values.ts';
import { PrefixFold } from '../../src/aggregation/prefix-fold.ts';
import { officialStatisticsSchema } from '../../src/aggregation/statistics.ts';
import type { Stop } from '../../src/aggregation/stopping-rule.ts';
import { stoppingRule } from '../../src/aggregation/stopping.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';

interface Played {
  readonly task: number;
  readonly return: number;
  readonly length?: number;
  readonly metrics?: Record<string, number>;
}

const tasks = [
  { name: 'easy', weight: 1 },
  { name: 'hard', weight: 3 },
];
const fixed: Stop = { rule: 'fixed', episodes: 8, confidence: 0.95 };

const within = { low: 0, high: 10 };

function foldOf(episodes: readonly Played[], stop: Stop = fixed, declared: { bounds?: Bounds } = { bounds: within }): PrefixFold {
  const { bounds } = declared;
  const fold = new PrefixFold({
    bounds,
    failureScores: { timeout: 0, crash: 0 },
    tasks,
    metrics: ['distance', '7'],
    rule: stoppingRule(stop, bounds),
    windowSize: 4,
  });
  for (const [index, { task, length = 1, metrics = {}, return: value }] of episodes.entries()) {
    const outcome: Outcome = { kind: 'completed', return: value, length, metrics };
    fold.offer(index, task, outcome);
  }
  return fold;
}

const squares = (values: readonly number[], mean: number): number => values.reduce((sum, value) => sum + (value - mean) ** 2, 0);

const eight = [3, 1, 4, 1, 5, 9, 2, 6].map((value, index): Played => ({ task: index % 2, return: value }));
const onHard = eight.map(({ return: value }): Played => ({ task: 1, return: value }));

test('the plain figures agree with NumPy', () => {
  const official = foldOf(eight).official();
  expect(official).toMatchObject({ episodes: 8, resolved: 8, unresolved: 0, endedBy: 'rule', mean: 3.875, min: 1, max: 9 });
  expect(official.variance).toBeCloseTo(7.553571428571429, 12);
  expect(official.standardError).toBeCloseTo(0.9716977043151993, 12);
  expect(official.quantiles).toEqual({ of: 8, p05: 1, p25: 1.75, p50: 3.5, p75: 5.25, p95: expect.closeTo(7.95, 12) });
  expect(official.interval?.low).toBeCloseTo(1.7764237862343526, 9);
  expect(official.interval?.high).toBeCloseTo(6.703493234754378, 9);
});

test('tasks stand apart, and the estimate for this suite weighs them as declared, however often each came up', () => {
  const [easy, hard] = [
    [3, 4, 5, 2],
    [1, 1, 9, 6],
  ];
  const official = foldOf(eight).official();
  expect(official.tasks).toMatchObject([
    { name: 'easy', weight: 0.25, episodes: 4, unresolved: 0, mean: 3.5 },
    { name: 'hard', weight: 0.75, episodes: 4, unresolved: 0, mean: 4.25 },
  ]);
  const [easyError, hardError] = [squares(easy, 3.5) / 3 / 4, squares(hard, 4.25) / 3 / 4];
  expect(official.tasks[0]?.standardError).toBeCloseTo(Math.sqrt(easyError), 12);
  expect(official.estimands.thisSuite.mean).toBeCloseTo(0.25 * 3.5 + 0.75 * 4.25, 12);
  expect(official.estimands.thisSuite.standardError).toBeCloseTo(Math.sqrt(0.25 ** 2 * easyError + 0.75 ** 2 * hardError), 12);
});

test('a task that has not come up twice leaves the estimate for this suite open', () => {
  const once = foldOf([...onHard.slice(0, 4), { task: 0, return: 5 }]).official();
  expect(once.estimands.thisSuite.mean).toBeCloseTo(0.25 * 5 + 0.75 * 2.25, 12);
  expect(once.estimands.thisSuite.standardError).toBeNull();
  const never = foldOf(onHard).official();
  expect(never.estimands.thisSuite).toEqual({ mean: null, standardError: null });
});

test('a task has an interval only where no return decided how many episodes there are', () => {
  expect(
    foldOf(eight)
      .official()
      .tasks.map((task) => task.interval?.method),
  ).toEqual(['adjusted', 'adjusted']);
  const certified: Stop = { rule: 'certified', halfWidth: 1, confidence: 0.95 };
  expect(
    foldOf(eight, certified)
      .official()
      .tasks.map((task) => task.interval),
  ).toEqual([null, null]);
});

test('metrics are aggregated over the episodes that reported them, in the order of the suite', () => {
  const reported = eight.map((episode, index) => {
    const metrics: Record<string, number> = index < 4 ? { distance: index, unasked: 1 } : index === 4 ? { distance: Number.NaN } : {};
    return { ...episode, metrics, length: index };
  });
  const official = foldOf(reported).official();
  expect(official.metrics).toEqual([
    { name: 'distance', count: 4, missing: 4, mean: 1.5, standardDeviation: expect.closeTo(Math.sqrt(5 / 3), 12), min: 0, max: 3 },
    { name: '7', count: 0, missing: 8, mean: null, standardDeviation: null, min: null, max: null },
  ]);
  expect(official.meanLength).toBe(3.5);
});

test.each([0, 1, 2, 8])('the result after %d episodes has every key, and is what the schema says', (episodes) => {
  const official = foldOf(eight.slice(0, episodes)).official();
  expect(officialStatisticsSchema.parse(JSON.parse(JSON.stringify(official)))).toEqual(official);
  expect(Object.keys(official)).toEqual(Object.keys(officialStatisticsSchema.shape));
  expect(official.endedBy).toBe(episodes === 8 ? 'rule' : null);
});

test('a variance beyond floating point is null with a warning, never an invalid number', () => {
  const official = foldOf(
    [1e300, -1e300, 1e300].map((value) => ({ task: 0, return: value })),
    fixed,
    {},
  ).official();
  expect(official.variance).toBeNull();
  expect(official.interval).toBeNull();
  expect(official.warnings).toEqual([expect.stringContaining('floating point')]);
  expect(officialStatisticsSchema.safeParse(official).success).toBe(true);
});

test('the schema can be published as JSON Schema', () => {
  const schema = z.toJSONSchema(officialStatisticsSchema);
  expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
  expect(schema.required).toEqual(Object.keys(officialStatisticsSchema.shape));
});

test('quantiles are of the first million values, and say so', () => {
  const kept = new KeptValues();
  for (let value = 0; value < 1_000_500; value += 1) kept.add(value);
  expect(kept.count).toBe(1_000_000);
  expect(kept.quantiles([0, 0.5, 1])).toEqual([0, 499_999.5, 999_999]);
  expect(new KeptValues().quantiles([0.5])).toBeUndefined();
});
