import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import { RetainedValues } from '../../src/aggregation/results/retained-values.ts';
import { PrefixFold } from '../../src/aggregation/prefix-fold.ts';
import { computeDistributionFigures } from '../../src/aggregation/results/distribution-figures.ts';
import { ReturnDistribution } from '../../src/aggregation/results/return-distribution.ts';
import { officialStatisticsSchema } from '../../src/aggregation/results/statistics.ts';
import type { Stop } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import type { SuccessCriterion } from '../../src/aggregation/results/success-results.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';

interface Played {
  readonly task: number;
  /** Undefined when the episode was lost for good. */
  readonly return: number | undefined;
  readonly length?: number;
  readonly metrics?: Record<string, number>;
}

const tasks = [
  { name: 'easy', weight: 1 },
  { name: 'hard', weight: 3 },
];
const fixed: Stop = { rule: 'fixed', episodes: 8, confidence: 0.95 };

const within = { low: 0, high: 10 };

interface Declared {
  readonly bounds?: Bounds;
  readonly success?: SuccessCriterion;
  readonly tasks?: readonly { name: string; weight: number }[];
}

function foldOf(episodes: readonly Played[], stop: Stop = fixed, declared: Declared = { bounds: within }): PrefixFold {
  const { bounds, success } = declared;
  const fold = new PrefixFold({
    bounds,
    failureScores: { timeout: 0, crash: 0 },
    tasks: declared.tasks ?? tasks,
    metrics: ['distance', '7'],
    success,
    rule: createStoppingRule(stop, bounds),
    windowSize: 4,
  });
  for (const [index, { task, length = 1, metrics = {}, return: value }] of episodes.entries()) {
    const outcome: Outcome =
      value === undefined ? { kind: 'lost', detail: 'sandbox gone' } : { kind: 'completed', return: value, length, metrics };
    fold.offer(index, task, outcome);
  }
  return fold;
}

const squares = (values: readonly number[], mean: number): number => values.reduce((sum, value) => sum + (value - mean) ** 2, 0);

const eight = [3, 1, 4, 1, 5, 9, 2, 6].map((value, index): Played => ({ task: index % 2, return: value }));
const onHard = eight.map(({ return: value }): Played => ({ task: 1, return: value }));
const lost: Played = { task: 0, return: undefined };
const one = { tasks: [{ name: 'only', weight: 1 }] };

test('the plain figures agree with NumPy', () => {
  const official = foldOf(eight).computeOfficial();
  expect(official).toMatchObject({ episodes: 8, resolved: 8, unresolved: 0, endedBy: 'rule', mean: 3.875, min: 1, max: 9 });
  expect(official.variance).toBeCloseTo(7.553571428571429, 12);
  expect(official.standardError).toBeCloseTo(0.9716977043151993, 12);
  expect(official.quantiles).toEqual({ of: 8, p05: 1, p25: 1.75, p50: 3.5, p75: 5.25, p95: expect.closeTo(7.95, 12) });
  expect(official.interval?.low).toBeCloseTo(1.7764237862343526, 9);
  expect(official.interval?.high).toBeCloseTo(6.703493234754378, 9);
});

test('tasks are listed separately, and the estimate for this suite weighs them as declared, however often each was played', () => {
  const [easy, hard] = [
    [3, 4, 5, 2],
    [1, 1, 9, 6],
  ];
  const official = foldOf(eight).computeOfficial();
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
  const once = foldOf([...onHard.slice(0, 4), { task: 0, return: 5 }]).computeOfficial();
  expect(once.estimands.thisSuite.mean).toBeCloseTo(0.25 * 5 + 0.75 * 2.25, 12);
  expect(once.estimands.thisSuite.standardError).toBeNull();
  const never = foldOf(onHard).computeOfficial();
  expect(never.estimands.thisSuite).toEqual({ mean: null, standardError: null });
});

test('a task has an interval only where no return decided how many episodes there are', () => {
  expect(
    foldOf(eight)
      .computeOfficial()
      .tasks.map((task) => task.interval?.method),
  ).toEqual(['adjusted', 'adjusted']);
  const certified: Stop = { rule: 'certified', halfWidth: 1, confidence: 0.95 };
  expect(
    foldOf(eight, certified)
      .computeOfficial()
      .tasks.map((task) => task.interval),
  ).toEqual([null, null]);
});

test('metrics are aggregated over the episodes that reported them, in the order of the suite', () => {
  const reported = eight.map((episode, index) => {
    const metrics: Record<string, number> = index < 4 ? { distance: index, unasked: 1 } : index === 4 ? { distance: Number.NaN } : {};
    return { ...episode, metrics, length: index };
  });
  const official = foldOf(reported).computeOfficial();
  expect(official.metrics).toEqual([
    { name: 'distance', count: 4, missing: 4, mean: 1.5, standardDeviation: expect.closeTo(Math.sqrt(5 / 3), 12), min: 0, max: 3 },
    { name: '7', count: 0, missing: 8, mean: null, standardDeviation: null, min: null, max: null },
  ]);
  expect(official.meanLength).toBe(3.5);
});

test.each([0, 1, 2, 8])('the result after %d episodes has every key, and is what the schema says', (episodes) => {
  const official = foldOf(eight.slice(0, episodes)).computeOfficial();
  expect(officialStatisticsSchema.parse(JSON.parse(JSON.stringify(official)))).toEqual(official);
  expect(Object.keys(official)).toEqual(Object.keys(officialStatisticsSchema.shape));
  expect(official.endedBy).toBe(episodes === 8 ? 'rule' : null);
});

test('a variance beyond floating point is null with a warning, never an invalid number', () => {
  const official = foldOf(
    [1e300, -1e300, 1e300].map((value) => ({ task: 0, return: value })),
    fixed,
    {},
  ).computeOfficial();
  expect(official.variance).toBeNull();
  expect(official.interval).toBeNull();
  expect(official.warnings).toContainEqual(expect.stringContaining('floating point'));
  expect(officialStatisticsSchema.safeParse(official).success).toBe(true);
});

test('the schema can be published as JSON Schema', () => {
  const schema = z.toJSONSchema(officialStatisticsSchema);
  expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
  expect(schema.required).toEqual(Object.keys(officialStatisticsSchema.shape));
});

test('values are kept up to the first million, apart by task', () => {
  const kept = new RetainedValues();
  for (let value = 0; value < 1_000_500; value += 1) kept.add(1_000_500 - value, value % 3 === 0 ? 65_535 : 1);
  expect(kept.count).toBe(1_000_000);
  const sorted = kept.sort();
  expect([sorted[0], sorted[999_999], sorted.length]).toEqual([501, 1_000_500, 1_000_000]);
  expect(kept.groupByTask().map((values) => [values.length, values[0]])).toEqual([
    [666_666, 1_000_499],
    [333_334, 1_000_500],
  ]);
  expect([new RetainedValues().sort(), new RetainedValues().groupByTask()]).toEqual([[], []]);
});

test('figures that need the values say when some were not kept', () => {
  const distribution = new ReturnDistribution();
  for (let value = 0; value < 1_000_001; value += 1) distribution.add(value % 2, 0);
  expect(computeDistributionFigures(distribution.buildQuestion(0.95, true))).toMatchObject({
    bca: null,
    iqm: { value: 0.5, replicates: 1000 },
    quantiles: { of: 1_000_000, p50: 0.5 },
    histogram: { counts: [500_000, 500_000] },
  });
  expect(distribution.listWarnings(true)).toEqual([
    expect.stringContaining('first 1000000 resolved episodes'),
    expect.stringContaining('no BCa interval'),
  ]);
});

test('the possible effect of unresolved episodes on the mean is stated', () => {
  expect(foldOf(eight).computeOfficial().worstCase).toEqual({ low: 3.875, high: 3.875 });
  const missing = foldOf([...eight.slice(0, 6), lost, lost]).computeOfficial();
  expect(missing.worstCase).toEqual({ low: expect.closeTo(23 / 8, 12), high: expect.closeTo(43 / 8, 12) });
  expect(foldOf([...eight.slice(0, 6), lost], fixed, {}).computeOfficial().worstCase).toBeNull();
  expect(foldOf([]).computeOfficial().worstCase).toBeNull();
});

test('the price of certainty is reported where a rule aims at a half-width', () => {
  const certified: Stop = { rule: 'certified', halfWidth: 1, confidence: 0.95 };
  const { certainty, variance } = foldOf(eight, certified).computeOfficial();
  const needed = Math.ceil(1.959964 ** 2 * (variance ?? 0));
  expect(certainty).toEqual({ knownVarianceEpisodes: needed, extraEpisodes: 8 - needed });
  expect(foldOf(eight).computeOfficial().certainty).toBeNull();
  expect(foldOf(eight.slice(0, 1), certified).computeOfficial().certainty).toBeNull();
});

test('the BCa interval presumes a number of episodes that was fixed, and all of them resolved', () => {
  const { bca, interval, mean } = foldOf(eight).computeOfficial();
  expect(bca).toMatchObject({ method: 'bca', confidence: 0.95, guarantee: expect.stringContaining('fixed in advance') });
  expect(bca?.low).toBeLessThan(mean ?? 0);
  expect(bca?.high).toBeGreaterThan(mean ?? 10);
  expect(interval?.method).toBe('adjusted');
  expect(foldOf(eight, { rule: 'certified', halfWidth: 1, confidence: 0.95 }).computeOfficial().bca).toBeNull();
  expect(foldOf([...eight.slice(0, 7), lost]).computeOfficial().bca).toBeNull();
});

test('the interquartile mean is over all returns, its bootstrap within tasks', () => {
  const { iqm } = foldOf(eight).computeOfficial();
  expect(iqm).toMatchObject({ value: 3.5, replicates: 1000, interval: { method: 'stratified-bootstrap', confidence: 0.95 } });
  expect(foldOf(eight.slice(0, 2)).computeOfficial().iqm).toEqual({ value: 2, interval: null, replicates: 0 });
  expect(foldOf([lost]).computeOfficial().iqm).toBeNull();
});

test('few episodes of a task make the bootstrap too narrow, which is reported', () => {
  const narrow = expect.stringContaining('too narrow: 2 tasks share 8 resolved episodes');
  expect(foldOf(eight).computeOfficial().warnings).toContainEqual(narrow);
  expect(foldOf(onHard).computeOfficial().warnings).not.toContainEqual(narrow);
});

test('successes are counted if the suite defines success', () => {
  const { success, warnings } = foldOf(eight, fixed, { bounds: within, success: { threshold: 4, k: [1, 5] } }).computeOfficial();
  expect(success).toMatchObject({
    threshold: 4,
    count: 4,
    rate: 0.5,
    clopperPearson: { method: 'clopper-pearson' },
    pass: [{ k: 1 }, { k: 5 }],
  });
  expect(success?.pass[0]?.anyOf.value).toBeCloseTo(0.5, 12);
  expect(success?.pass[1]?.anyOf.value).toBeNull();
  expect(warnings).toContainEqual(expect.stringMatching(/k = 5.*task "easy" has 4/));
  expect(foldOf(eight).computeOfficial().success).toBeNull();
});

test('a failed episode succeeds or not by its score, and a lost one does not count', () => {
  const fold = foldOf([{ task: 0, return: 11 }, { task: 0, return: 5 }, lost], fixed, {
    bounds: within,
    success: { threshold: 0, k: [1] },
  });
  expect(fold.computeOfficial()).toMatchObject({ failures: { 'out-of-bounds': 1 }, success: { count: 2, rate: 1 } });
});

test('the population of tasks has the mean of all episodes, with a standard error by task; two tasks leave it without an interval', () => {
  const { estimands, warnings } = foldOf(eight).computeOfficial();
  // Σ(xᵢ − x̄) is −1.5 for one task and 1.5 for the other.
  const standardError = Math.sqrt(2 * 2 * 1.5 ** 2) / 8;
  expect(estimands.taskPopulation).toMatchObject({ mean: 3.875, tasks: 2, interval: null });
  expect(estimands.taskPopulation?.standardError).toBeCloseTo(standardError, 12);
  expect(warnings).toContainEqual(expect.stringContaining('cannot be estimated from 2 tasks'));
});

test('the interval for the population of tasks ends where the bounds do', () => {
  const three = { tasks: ['a', 'b', 'c'].map((name) => ({ name, weight: 1 })) };
  const returns = [0, 0.1, 1];
  const played = Array.from({ length: 30 }, (_, index): Played => ({ task: index % 3, return: returns[index % 3] ?? 0 }));
  const [free, bounded] = [three, { ...three, bounds: { low: 0, high: 1 } }].map((declared) => {
    const { estimands, warnings } = foldOf(played, { ...fixed, episodes: 30 }, declared).computeOfficial();
    expect(warnings).toContainEqual(expect.stringContaining('rests on 3 tasks'));
    return estimands.taskPopulation;
  });
  const standardError = free?.standardError ?? Number.NaN;
  expect(free?.interval?.high).toBeCloseTo((free?.mean ?? Number.NaN) + 4.3026527297 * standardError, 8);
  expect(free?.interval?.low).toBeLessThan(0);
  expect(bounded?.interval).toMatchObject({ low: 0, high: 1, method: 'clustered-t' });
});

test('twenty tasks give no warning, and one task is no population', () => {
  const twenty = { tasks: Array.from({ length: 20 }, (_, task) => ({ name: `task ${task}`, weight: 1 })) };
  const everywhere = Array.from({ length: 100 }, (_, index): Played => ({ task: index % 20, return: index % 7 }));
  const many = foldOf(everywhere, { ...fixed, episodes: 100 }, twenty).computeOfficial();
  expect(many.estimands.taskPopulation?.tasks).toBe(20);
  expect(many.warnings).toEqual([]);
  expect(
    foldOf(
      eight.map((episode) => ({ ...episode, task: 0 })),
      fixed,
      one,
    ).computeOfficial(),
  ).toMatchObject({
    estimands: { taskPopulation: null },
    warnings: [],
  });
});

test('tasks without an episode do not count for the population', () => {
  expect(foldOf(onHard).computeOfficial().estimands.taskPopulation).toEqual({ mean: 3.875, standardError: null, tasks: 1, interval: null });
});

test('the histogram shows every resolved return', () => {
  expect(foldOf([...eight.slice(0, 7), lost]).computeOfficial().histogram).toEqual({
    edges: [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5],
    counts: [2, 1, 1, 1, 1, 0, 0, 0, 1],
  });
  expect(foldOf([]).computeOfficial().histogram).toBeNull();
});

test.each<Stop>([
  { rule: 'certified', halfWidth: 0.5, confidence: 0.95 },
  { rule: 'fixed', episodes: 1000, confidence: 0.95 },
  { rule: 'approximate', halfWidth: 0.5, confidence: 0.95 },
])('$rule: the course ends with the official figures, and its intervals are those that the rule gave on the way', (stop) => {
  const long = Array.from({ length: 300 }, (_, index): Played => ({ task: 0, return: index % 2 === 0 ? 0 : 10 }));
  const official = foldOf(long, stop).computeOfficial();
  const { course, episodes, mean, interval } = official;
  expect(course.at(-1)).toEqual({ episodes, mean, low: interval?.low, high: interval?.high });
  expect(course.map((point) => point.episodes)).toEqual(Array.from({ length: 75 }, (_, point) => 4 * (point + 1)));
  const halfway = foldOf(long.slice(0, 152), stop).computeOfficial();
  expect(course.find((point) => point.episodes === 152)).toEqual(halfway.course.at(-1));
});

test('without a resolved episode the course has no mean', () => {
  expect(foldOf([]).computeOfficial().course).toEqual([]);
  expect(foldOf([lost]).computeOfficial().course).toMatchObject([{ episodes: 1, mean: null }]);
});

const suites = fc.array(fc.record({ task: fc.nat(1), return: fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined, freq: 20 }) }), {
  minLength: 1,
  maxLength: 60,
});
const declared: Declared = { bounds: within, success: { threshold: 5, k: [1, 2] } };

test('equal episodes give an equal result, byte for byte', () => {
  fc.assert(
    fc.property(suites, (episodes) => {
      const stop: Stop = { ...fixed, episodes: Math.max(2, episodes.length) };
      const first = foldOf(episodes, stop, declared);
      const text = JSON.stringify(first.computeOfficial());
      expect(JSON.stringify(first.computeOfficial())).toBe(text);
      expect(JSON.stringify(foldOf(episodes, stop, declared).computeOfficial())).toBe(text);
      expect(officialStatisticsSchema.parse(JSON.parse(text))).toEqual(JSON.parse(text));
    }),
    { numRuns: 15 },
  );
});

test('figures of the distribution do not depend on which index had which return', () => {
  fc.assert(
    fc.property(suites, (episodes) => {
      const stop: Stop = { ...fixed, episodes: Math.max(2, episodes.length) };
      const [forth, back] = [episodes, episodes.toReversed()].map((played) => foldOf(played, stop, declared).computeOfficial());
      const unordered = ({ iqm, bca, quantiles, histogram, success, worstCase }: NonNullable<typeof forth>): unknown => {
        return { iqm, bca, quantiles, histogram, success, worstCase: worstCase && Math.round(worstCase.low * 1e9) };
      };
      expect(forth && unordered(forth)).toEqual(back && unordered(back));
    }),
    { numRuns: 15 },
  );
});
