import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PrefixFold } from '../../src/aggregation/prefix-fold.ts';
import type { PrefixFoldOptions } from '../../src/aggregation/prefix-fold.ts';
import type { Stop } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import { InputError } from '../../src/kernel/errors.ts';
import { FAILURE_CAUSES } from '../../src/kernel/outcome.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import { seededRandom } from './seeded-random.ts';

const bounds = { low: 0, high: 10 };
const WINDOW = 16;

interface Given extends Partial<Omit<PrefixFoldOptions, 'rule'>> {
  readonly stop?: Stop;
}

function prefixFold({ stop = { rule: 'fixed', episodes: 6, confidence: 0.95 }, ...given }: Given = {}): PrefixFold {
  const options = {
    bounds,
    failureScores: { timeout: 1, crash: 0 },
    tasks: [{ name: 'only', weight: 1 }],
    metrics: [],
    windowSize: WINDOW,
    ...given,
  };
  return new PrefixFold({ ...options, rule: createStoppingRule(stop, options.bounds) });
}

const completed = (value: number, metrics: Record<string, number> = {}): Outcome => ({
  kind: 'completed',
  return: value,
  length: 5,
  metrics,
});
const lost: Outcome = { kind: 'lost', detail: 'sandbox gone' };

/** Whole episodes of a suite with two tasks: the index alone decides the task and the outcome. */
function episodeOf(seed: number, index: number): { task: number; outcome: Outcome } {
  const random = seededRandom(seed * 7919 + index);
  const task = random() < 0.3 ? 0 : 1;
  const kind = random();
  const value = random() < 0.5 ? 10 * random() : 10;
  if (kind < 0.03) return { task, outcome: lost };
  if (kind < 0.05) return { task, outcome: completed(11) };
  const cause = FAILURE_CAUSES[Math.floor(random() * FAILURE_CAUSES.length)] ?? 'timeout';
  if (kind < 0.1) return { task, outcome: { kind: 'failed', cause, detail: '' } };
  return { task, outcome: completed(value, kind < 0.5 ? { distance: value / 3 } : {}) };
}

const twoTasks = {
  tasks: [
    { name: 'easy', weight: 3 },
    { name: 'hard', weight: 7 },
  ],
  metrics: ['distance'],
};

/** Plays a suite to its end; `next` picks which of the episodes under way arrives. @returns the official result. */
function play(fold: PrefixFold, seed: number, next: (underWay: number) => number): string {
  const underWay: number[] = [];
  let dispatched = 0;
  while (fold.ended === undefined) {
    while (dispatched < fold.folded + WINDOW) underWay.push(dispatched++);
    const [index = 0] = underWay.splice(next(underWay.length), 1);
    const { task, outcome } = episodeOf(seed, index);
    fold.offer(index, task, outcome);
  }
  return JSON.stringify(fold.computeOfficial());
}

test.each<Stop>([
  { rule: 'fixed', episodes: 100, confidence: 0.95 },
  { rule: 'certified', halfWidth: 1.5, confidence: 0.9 },
])('the official result is byte-identical in any order of arrival: $rule', (stop) => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(2 ** 31), (seed, orderSeed) => {
      const random = seededRandom(orderSeed);
      const inOrder = play(prefixFold({ stop, ...twoTasks }), seed, () => 0);
      const shuffled = play(prefixFold({ stop, ...twoTasks }), seed, (underWay) => Math.floor(random() * underWay));
      expect(shuffled).toBe(inOrder);
    }),
    { numRuns: 40 },
  );
});

test('the prefix grows up to the first gap', () => {
  const fold = prefixFold();
  expect(fold.offer(2, 0, completed(2))).toEqual({ kind: 'held' });
  expect(fold.offer(1, 0, completed(1))).toEqual({ kind: 'held' });
  expect([fold.folded, fold.surplus, fold.getRunning().mean]).toEqual([0, 2, undefined]);
  expect(fold.offer(0, 0, completed(0))).toEqual({ kind: 'folded', indices: 3 });
  expect([fold.folded, fold.surplus, fold.getRunning().mean]).toEqual([3, 0, 1]);
});

test('quick episodes are not averaged in before slow ones of a lower index', () => {
  const fold = prefixFold({ stop: { rule: 'fixed', episodes: 3, confidence: 0.95 } });
  for (const index of [1, 2, 3, 4, 5]) fold.offer(index, 0, completed(10));
  expect(fold.ended).toBeUndefined();
  fold.offer(0, 0, completed(1));
  expect(fold.ended).toBe('rule');
  expect(fold.computeOfficial()).toMatchObject({ episodes: 3, mean: 7 });
  expect(fold.surplus).toBe(3);
});

test('episodes after the end are surplus: counted, never averaged in', () => {
  const fold = prefixFold({ stop: { rule: 'fixed', episodes: 2, confidence: 0.95 } });
  fold.offer(0, 0, completed(3));
  fold.offer(1, 0, completed(5));
  const official = JSON.stringify(fold.computeOfficial());
  expect(fold.offer(2, 0, completed(10))).toEqual({ kind: 'surplus' });
  expect(fold.offer(2, 0, completed(10))).toEqual({ kind: 'duplicate' });
  expect([fold.folded, fold.surplus]).toEqual([2, 1]);
  expect(JSON.stringify(fold.computeOfficial())).toBe(official);
});

test('an index that is offered twice changes nothing, waiting or folded', () => {
  const fold = prefixFold();
  fold.offer(1, 0, completed(4));
  expect(fold.offer(1, 0, completed(9))).toEqual({ kind: 'duplicate' });
  fold.offer(0, 0, completed(2));
  expect(fold.offer(0, 0, completed(9))).toEqual({ kind: 'duplicate' });
  expect(fold.getRunning()).toMatchObject({ episodes: 2, mean: 3 });
});

test('the budget in episodes ends the fold, unless the same episode satisfies the rule', () => {
  const short = prefixFold({ budgetEpisodes: 2 });
  short.offer(0, 0, completed(1));
  short.offer(1, 0, completed(1));
  expect([short.ended, short.getRunning().expectedRemaining, short.computeOfficial().endedBy]).toEqual(['episodes', 0, 'episodes']);
  const exact = prefixFold({ budgetEpisodes: 6 });
  for (let index = 0; index < 6; index += 1) exact.offer(index, 0, completed(1));
  expect(exact.ended).toBe('rule');
});

test('the needed episodes never exceed the rest of the budget', () => {
  const fold = prefixFold({ budgetEpisodes: 4 });
  fold.offer(0, 0, completed(1));
  expect(fold.getRunning().expectedRemaining).toBe(3);
});

test('a running figure shows how near the target is', () => {
  const fold = prefixFold({ stop: { rule: 'certified', halfWidth: 1, confidence: 0.95 } });
  expect(fold.getRunning()).toMatchObject({ episodes: 0, mean: undefined, halfWidth: undefined, target: 1 });
  for (let index = 0; index < 3; index += 1) fold.offer(index, 0, completed(10));
  expect(fold.getRunning()).toMatchObject({ episodes: 3, mean: 10, halfWidth: 4.575, target: 1 });
});

test('an episode lost for good is folded as unresolved: outside of the mean, inside of the interval', () => {
  const fold = prefixFold({ stop: { rule: 'fixed', episodes: 3, confidence: 0.95 } });
  for (const [index, outcome] of [completed(4), lost, completed(6)].entries()) fold.offer(index, 0, outcome);
  const official = fold.computeOfficial();
  expect(official).toMatchObject({ episodes: 3, resolved: 2, unresolved: 1, mean: 5, endedBy: 'rule' });
  const complete = prefixFold({ stop: { rule: 'fixed', episodes: 3, confidence: 0.95 } });
  for (const index of [0, 1, 2]) complete.offer(index, 0, completed(4 + index));
  expect(official.interval?.low).toBeLessThanOrEqual(complete.computeOfficial().interval?.low ?? Number.NaN);
  expect(official.interval?.high).toBeGreaterThanOrEqual(complete.computeOfficial().interval?.high ?? Number.NaN);
});

test('without bounds a lost episode takes the interval away and the result says why', () => {
  const fold = prefixFold({ bounds: undefined, stop: { rule: 'fixed', episodes: 3, confidence: 0.95 } });
  for (const [index, outcome] of [completed(4), lost, completed(6)].entries()) fold.offer(index, 0, outcome);
  const official = fold.computeOfficial();
  expect(official).toMatchObject({ episodes: 3, unresolved: 1, mean: 5, interval: null });
  expect(official.warnings).toEqual([expect.stringContaining('no interval')]);
  expect(fold.getRunning().halfWidth).toBeUndefined();
});

test('failures count with the scores that the suite declares, and by cause', () => {
  const fold = prefixFold({ stop: { rule: 'fixed', episodes: 5, confidence: 0.95 }, failureScores: { timeout: 1, crash: 2 } });
  const timeout: Outcome = { kind: 'failed', cause: 'timeout', detail: '' };
  const crash: Outcome = { kind: 'failed', cause: 'policy-crash', detail: '' };
  for (const [index, outcome] of [timeout, crash, completed(Number.NaN), completed(10.5), completed(5)].entries())
    fold.offer(index, 0, outcome);
  const official = fold.computeOfficial();
  expect(official.mean).toBeCloseTo((1 + 2 + 2 + 2 + 5) / 5, 12);
  expect(official.failures).toEqual({
    timeout: 1,
    'policy-crash': 1,
    'environment-crash': 0,
    'out-of-memory': 0,
    'protocol-violation': 0,
    'invalid-return': 1,
    'out-of-bounds': 1,
  });
  expect(Object.keys(official.failures)).toEqual(FAILURE_CAUSES);
  expect(official.meanLength).toBe(5);
});

test('dispatch that ran too far ahead, or an unknown task, is an error of the caller and folds nothing', () => {
  const fold = prefixFold();
  expect(() => fold.offer(WINDOW, 0, completed(1))).toThrow(RangeError);
  expect(() => fold.offer(0, 1, completed(1))).toThrow(/1 tasks/);
  expect(() => fold.offer(0, -1, completed(1))).toThrow(RangeError);
  expect([fold.folded, fold.surplus]).toEqual([0, 0]);
});

test('a failure score that is no possible return is bad input', () => {
  expect(() => prefixFold({ failureScores: { timeout: -1, crash: 0 } })).toThrow(InputError);
  expect(() => prefixFold({ failureScores: { timeout: 0, crash: 11 } })).toThrow(
    /failureScores\.crash: expected a number within reward\.bounds \[0, 10\], got 11/,
  );
  expect(() => prefixFold({ bounds: undefined, failureScores: { timeout: Number.NaN, crash: 11 } })).toThrow(/failureScores\.timeout/);
});

test('weights, tasks and budgets that make no sense are errors of the caller', () => {
  expect(() => prefixFold({ tasks: [] })).toThrow(RangeError);
  expect(() => prefixFold({ tasks: [{ name: 'none', weight: 0 }] })).toThrow(RangeError);
  expect(() => prefixFold({ budgetEpisodes: 0 })).toThrow(RangeError);
});
