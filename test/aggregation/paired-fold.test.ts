import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { officialComparisonSchema } from '../../src/aggregation/comparison/comparison-statistics.ts';
import { PairedFold } from '../../src/aggregation/comparison/paired-fold.ts';
import type { PairedFoldOptions } from '../../src/aggregation/comparison/paired-fold.ts';
import { InputError } from '../../src/kernel/errors.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import { seededRandom } from './seeded-random.ts';

const options: PairedFoldOptions = {
  bounds: { low: 0, high: 10 },
  failureScores: { timeout: 1, crash: 0 },
  tasks: 1,
  candidates: ['new'],
  confidence: 0.95,
  windowSize: 16,
  seed: 1,
};

const pairedFold = (given: Partial<PairedFoldOptions> = {}): PairedFold => new PairedFold({ ...options, ...given });

const completed = (value: number): Outcome => ({ kind: 'completed', return: value, length: 5, metrics: {} });
const lost: Outcome = { kind: 'lost', detail: 'sandbox gone' };

/** Offers the arms' outcomes, each the same at every index, in index order until the fold has ended. */
function playOut(fold: PairedFold, outcomes: readonly Outcome[], most = 10_000): void {
  for (let index = fold.folded; index < most && fold.ended === undefined; index += 1) {
    for (const [arm, outcome] of outcomes.entries()) if (fold.isLive(arm)) fold.offer(arm, index, 0, outcome);
  }
}

interface Scenario {
  readonly seed: number;
  readonly candidates: number;
  readonly margin: number;
  readonly budgetEpisodes: number;
  readonly baselineEpisodes: number | undefined;
}

const scenario = fc.record<Scenario>({
  seed: fc.nat(1000),
  candidates: fc.integer({ min: 1, max: 4 }),
  margin: fc.constantFrom(0, 4),
  budgetEpisodes: fc.integer({ min: 5, max: 500 }),
  baselineEpisodes: fc.option(fc.integer({ min: 1, max: 150 }), { nil: undefined }),
});

/** Index and arm alone decide the outcome. Candidates differ: some are settled soon, some late, some never. */
function outcomeOf({ seed }: Scenario, arm: number, index: number): { task: number; outcome: Outcome } {
  const shared = seededRandom(seed * 7919 + index);
  const task = shared() < 0.3 ? 0 : 1;
  const luck = shared();
  const own = seededRandom((seed * 31 + arm) * 104_729 + index);
  const kind = own();
  if (kind < 0.01) return { task, outcome: lost };
  if (kind < 0.02) return { task, outcome: completed(11) };
  if (kind < 0.04) return { task, outcome: { kind: 'failed', cause: 'timeout', detail: '' } };
  const skill = [0.5, 0.9, 0.5, 0.1, 0.6][arm] ?? 0.5;
  return { task, outcome: completed(0.7 * luck + 0.3 * own() < skill ? 10 : Math.floor(4 * luck)) };
}

/**
 * Plays a comparison to its end, as dispatch would: every arm that is live runs ahead as far as it may. `next` picks which of the episodes under
 * way arrives; what is under way at the end arrives after it.
 */
function play(given: Scenario, windowSize: number, next: (underWay: number) => number): PairedFold {
  const { candidates, margin, budgetEpisodes, baselineEpisodes } = given;
  const names = Array.from({ length: candidates }, (_, position) => `new-${position}`);
  const fold = pairedFold({ tasks: 2, candidates: names, margin, budgetEpisodes, baselineEpisodes, windowSize });
  const dispatched = Array<number>(candidates + 1).fill(0);
  const underWay: (readonly [arm: number, index: number])[] = [];
  const arrive = (position: number): void => {
    for (const [arm, index] of underWay.splice(position, 1)) {
      const { task, outcome } = outcomeOf(given, arm, index);
      fold.offer(arm, index, task, outcome);
      expect(fold.offer(arm, index, task, lost)).toEqual({ kind: 'duplicate' });
    }
  };
  let limit = fold.limit;
  while (fold.ended === undefined) {
    for (let index = 0; index < Math.min(fold.folded + windowSize, fold.limit); index += 1)
      for (const arm of dispatched.keys())
        if (fold.isLive(arm) && dispatched[arm] === index) underWay.push([arm, (dispatched[arm] = index + 1) - 1]);
    expect(fold.limit).toBeLessThanOrEqual(limit);
    ({ limit } = fold);
    expect(fold.estimateRemaining()).toBeGreaterThanOrEqual(1);
    expect(fold.folded + fold.estimateRemaining()).toBeLessThanOrEqual(limit);
    arrive(next(underWay.length));
  }
  expect(fold.folded).toBeLessThanOrEqual(limit);
  while (underWay.length > 0) arrive(0);
  expect([fold.limit, fold.estimateRemaining(), fold.getRunning().expectedRemaining]).toEqual([fold.folded, 0, 0]);
  return fold;
}

test('the official result is byte-identical in any order of arrival, with any window', () => {
  fc.assert(
    fc.property(scenario, fc.nat(2 ** 31), fc.integer({ min: 1, max: 40 }), (given, orderSeed, windowSize) => {
      const random = seededRandom(orderSeed);
      const inOrder = play(given, 8, () => 0).computeOfficial();
      const shuffled = play(given, windowSize, (underWay) => Math.floor(random() * underWay)).computeOfficial();
      expect(JSON.stringify(shuffled)).toBe(JSON.stringify(inOrder));
      expect(inOrder.episodes).toBe(inOrder.pairs + inOrder.candidates.reduce((sum, { pairs }) => sum + pairs, 0));
      expect(inOrder.episodes).toBeLessThanOrEqual(given.budgetEpisodes);
    }),
    { numRuns: 40 },
  );
});

test('the sampled comparisons end in every possible way, so the orders of arrival are tried on all verdicts', () => {
  const officials = fc.sample(scenario, { numRuns: 40, seed: 7 }).map((given) => play(given, 8, () => 0).computeOfficial());
  const verdicts = new Set(officials.flatMap(({ candidates }) => candidates.map(({ verdict }) => verdict)));
  expect([...verdicts].sort()).toEqual(['equivalent', 'inconclusive', 'promote', 'regress']);
  expect(new Set(officials.map(({ endedBy }) => endedBy))).toEqual(new Set(['verdicts', 'episodes']));
  expect(officials.some(({ candidates }) => candidates.some(({ unresolvedPairs }) => unresolvedPairs > 0))).toBe(true);
});

test('an index is folded once the baseline and every candidate have it', () => {
  const fold = pairedFold({ candidates: ['a', 'b'] });
  expect(fold.offer(1, 0, 0, completed(3))).toEqual({ kind: 'held' });
  expect(fold.offer(0, 1, 0, completed(2))).toEqual({ kind: 'held' });
  expect(fold.offer(0, 0, 0, completed(2))).toEqual({ kind: 'held' });
  expect(fold.offer(1, 1, 0, completed(4))).toEqual({ kind: 'held' });
  expect(fold.offer(2, 1, 0, completed(2))).toEqual({ kind: 'held' });
  expect([fold.folded, fold.surplus]).toEqual([0, 5]);
  expect(fold.offer(2, 0, 0, completed(1))).toEqual({ kind: 'folded', indices: 2 });
  expect([fold.folded, fold.surplus]).toEqual([2, 0]);
  expect(fold.getRunning()).toMatchObject({ pairs: 2, episodes: 6, candidates: [{ difference: 1.5 }, { difference: -0.5 }] });
});

test('a settled candidate drops out: the others continue, and its later episodes do not count', () => {
  const fold = pairedFold({ candidates: ['winner', 'equal', 'loser'] });
  // Ahead of the rest when it is settled.
  for (const index of [0, 1, 2]) fold.offer(1, index, 0, completed(10));
  for (let index = 0; fold.isLive(1); index += 1)
    for (const arm of [1, 0, 2, 3]) fold.offer(arm, index, 0, completed([5, 10, 5, 0][arm] ?? 0));
  const settledAt = fold.folded;
  expect([fold.isLive(0), fold.isLive(1), fold.isLive(2), fold.isLive(3)]).toEqual([true, false, true, false]);
  const before = fold.computeOfficial().candidates;
  expect(fold.offer(1, settledAt, 0, completed(0))).toEqual({ kind: 'surplus' });
  expect(fold.offer(1, settledAt, 0, completed(0))).toEqual({ kind: 'duplicate' });
  playOut(fold, [completed(5), completed(0), completed(6), completed(10)], 80);
  const after = fold.computeOfficial().candidates;
  expect([after[0], after[2]]).toEqual([before[0], before[2]]);
  expect(after.map(({ verdict, pairs }) => [verdict, pairs])).toEqual([
    ['promote', settledAt],
    ['inconclusive', 80],
    ['regress', settledAt],
  ]);
  expect([0, 1, 2, 3].map((arm) => fold.countFolded(arm))).toEqual([80, settledAt, 80, settledAt]);
  expect([fold.surplus, fold.ended]).toEqual([1, undefined]);
});

test('α is split over the candidates at the start, and the share of a settled one is not passed on', () => {
  const alone = pairedFold({ candidates: ['b'] });
  const beside = pairedFold({ candidates: ['a', 'b'] });
  playOut(alone, [completed(4), completed(6)]);
  playOut(beside, [completed(4), completed(10), completed(6)]);
  const needed = (fold: PairedFold): number | undefined => fold.computeOfficial().candidates.at(-1)?.evidence.needed;
  expect(needed(alone)).toBeCloseTo(Math.log10(2 / 0.05), 12);
  expect(needed(beside)).toBeCloseTo(Math.log10(4 / 0.05), 12);
  expect(beside.folded).toBeGreaterThan(alone.folded);
});

test.each([
  // Two candidates; the first is settled by pair 10. Three episodes an index up to there, two from then on.
  { budgetEpisodes: 60, pairs: 25, episodes: 60, decidedAt: 10 },
  { budgetEpisodes: 61, pairs: 25, episodes: 60, decidedAt: 10 },
  { budgetEpisodes: 62, pairs: 26, episodes: 62, decidedAt: 10 },
  { budgetEpisodes: 31, pairs: 10, episodes: 30, decidedAt: 10 },
  { budgetEpisodes: 29, pairs: 9, episodes: 27, decidedAt: null },
  { budgetEpisodes: 3, pairs: 1, episodes: 3, decidedAt: null },
])('a budget of $budgetEpisodes episodes is shared by the arms that take part', ({ budgetEpisodes, pairs, episodes, decidedAt }) => {
  const fold = pairedFold({ candidates: ['winner', 'equal'], budgetEpisodes });
  playOut(fold, [completed(0), completed(10), completed(0)]);
  const official = fold.computeOfficial();
  expect(official).toMatchObject({ pairs, episodes, endedBy: 'episodes' });
  expect(official.candidates.map((candidate) => candidate.decidedAt)).toEqual([decidedAt, null]);
});

test('the last verdict ends the comparison, also where the budget is spent with it', () => {
  const fold = pairedFold({ budgetEpisodes: 16 });
  playOut(fold, [completed(0), completed(10)]);
  expect([fold.ended, fold.folded, fold.getRunning().episodes]).toEqual(['verdicts', 8, 16]);
  expect([fold.isLive(0), fold.isLive(1), fold.limit, fold.estimateRemaining()]).toEqual([false, false, 8, 0]);
  expect(fold.getRunning().candidates).toMatchObject([{ name: 'new', pairs: 8, difference: 10, verdict: 'promote' }]);
});

test('failed episodes are counted by cause for each arm, up to the end of the arm', () => {
  const fold = pairedFold({ candidates: ['never fails', 'breaks the bounds'], budgetEpisodes: 12 });
  playOut(fold, [{ kind: 'failed', cause: 'timeout', detail: '' }, completed(1), completed(11)]);
  expect(fold.offer(2, 4, 0, completed(11))).toEqual({ kind: 'surplus' });
  const { pairs, baselineFailures, candidates } = fold.computeOfficial();
  expect(pairs).toBe(4);
  expect(baselineFailures).toMatchObject({ timeout: 4, 'out-of-bounds': 0 });
  expect(candidates.map(({ failures }) => failures)).toMatchObject([
    { timeout: 0, 'out-of-bounds': 0 },
    { timeout: 0, 'out-of-bounds': 4 },
  ]);
});

test('episodes after the end are surplus and change nothing', () => {
  const fold = pairedFold({ budgetEpisodes: 4 });
  playOut(fold, [completed(3), completed(5)]);
  const official = JSON.stringify(fold.computeOfficial());
  expect(fold.offer(1, 2, 0, completed(0))).toEqual({ kind: 'surplus' });
  expect(fold.offer(0, 2, 0, completed(9))).toEqual({ kind: 'surplus' });
  expect(fold.offer(0, 2, 0, completed(9))).toEqual({ kind: 'duplicate' });
  expect([fold.folded, fold.surplus, JSON.stringify(fold.computeOfficial())]).toEqual([2, 2, official]);
});

test('dispatch may run as far as the budget would reach if all but one candidate settled next', () => {
  expect(pairedFold({ budgetEpisodes: 60, candidates: ['a', 'b'] }).limit).toBe(29);
  expect(pairedFold({ budgetEpisodes: 61 }).limit).toBe(30);
  expect(pairedFold({ budgetEpisodes: 61, baselineEpisodes: 12 }).limit).toBe(12);
  expect(pairedFold().limit).toBe(Infinity);
  expect(pairedFold({ budgetEpisodes: 60, candidates: ['a', 'b'] }).estimateRemaining()).toBe(20);
});

test('a recorded baseline sets the last index, and otherwise equals one that is played', () => {
  const recorded = pairedFold({ baselineEpisodes: 6, budgetEpisodes: 100 });
  const played = pairedFold({ budgetEpisodes: 12 });
  expect(recorded.getRunning().expectedRemaining).toBe(6);
  expect(played.getRunning().expectedRemaining).toBe(12);
  for (const fold of [recorded, played]) playOut(fold, [completed(4), completed(5)]);
  expect(recorded.computeOfficial()).toEqual({
    ...played.computeOfficial(),
    warnings: [expect.stringContaining('recorded baseline ended after 6 episodes')],
  });
  const long = pairedFold({ baselineEpisodes: 14 });
  playOut(long, [completed(0), completed(10)]);
  expect(long.computeOfficial()).toMatchObject({ endedBy: 'verdicts', warnings: [] });
});

test('failures count with the scores that the suite declares, lost episodes make their pairs unresolved', () => {
  const fold = pairedFold({ budgetEpisodes: 8 });
  const timeout: Outcome = { kind: 'failed', cause: 'timeout', detail: '' };
  for (const [index, outcome] of [completed(11), timeout, lost, completed(4)].entries()) {
    fold.offer(0, index, 0, completed(3));
    fold.offer(1, index, 0, outcome);
  }
  expect(fold.computeOfficial().candidates).toMatchObject([{ pairs: 4, unresolvedPairs: 1, mean: (0 + 1 + 4) / 3, baselineMean: 3 }]);
});

test.each([
  [0, null],
  [1, null],
  [9, null],
  [16, 'episodes'],
])('the result after %d indices has every key, and is what the schema says', (indices, endedBy) => {
  const fold = pairedFold({ candidates: ['a', 'b'], budgetEpisodes: 48 });
  playOut(fold, [completed(2), completed(4), lost], indices);
  const official = fold.computeOfficial();
  expect(officialComparisonSchema.parse(JSON.parse(JSON.stringify(official)))).toEqual(official);
  expect(Object.keys(official)).toEqual(Object.keys(officialComparisonSchema.shape));
  for (const candidate of official.candidates)
    expect(Object.keys(candidate)).toEqual(Object.keys(officialComparisonSchema.shape.candidates.element.shape));
  expect(official).toMatchObject({ pairs: indices, endedBy, confidence: 0.95, margin: 0 });
});

test('the schema can be published as JSON Schema', () => {
  const schema = z.toJSONSchema(officialComparisonSchema);
  expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
  expect(schema.required).toEqual(Object.keys(officialComparisonSchema.shape));
});

test('dispatch that ran too far ahead, an unknown arm or task are errors of the caller and fold nothing', () => {
  const fold = pairedFold();
  expect(() => fold.offer(1, 16, 0, completed(1))).toThrow(RangeError);
  expect(() => fold.offer(2, 0, 0, completed(1))).toThrow(/1 to 1 are the candidates; got 2/);
  expect(() => fold.isLive(-1)).toThrow(RangeError);
  expect(() => fold.offer(0, 0, 1, completed(1))).toThrow(/1 tasks/);
  expect(() => pairedFold({ candidates: [] })).toThrow(RangeError);
  expect([fold.folded, fold.surplus]).toEqual([0, 0]);
});

test.each<[string, Partial<PairedFoldOptions>, RegExp]>([
  ['no bounds', { bounds: undefined }, /reward\.bounds/],
  [
    'a budget that is less than one index',
    { budgetEpisodes: 1 },
    /budget\.episodes: a comparison of 2 checkpoints needs 2 episodes for each index, got 1 in total/,
  ],
  ['an empty recording', { baselineEpisodes: 0 }, /baseline: expected a recording of at least one episode, got 0/],
])('%s is refused with the field and the remedy', (_name, given, message) => {
  expect(() => pairedFold(given)).toThrow(InputError);
  expect(() => pairedFold(given)).toThrow(message);
});

test('arms that played different tasks at an index cannot be compared', () => {
  const fold = pairedFold({ tasks: 2 });
  fold.offer(0, 0, 1, completed(1));
  expect(() => fold.offer(1, 0, 0, completed(1))).toThrow(/episode 0: expected the same task .* number 1 for the baseline and 0/);
});
