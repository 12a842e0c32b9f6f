import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CandidateComparison, type CandidateFigures } from '../../src/aggregation/comparison/candidate-comparison.ts';
import { planComparisonTerms } from '../../src/aggregation/comparison/comparison-terms.ts';
import type { ComparisonQuestion } from '../../src/aggregation/comparison/comparison-terms.ts';
import type { Score } from '../../src/aggregation/stopping/stopping-rule.ts';
import { InputError } from '../../src/kernel/errors.ts';
import { seededRandom } from './seeded-random.ts';

const question: ComparisonQuestion = {
  bounds: { low: 0, high: 10 },
  failureScores: { timeout: 0, crash: 0 },
  confidence: 0.95,
  margin: 0,
  candidates: 1,
};

const comparison = (given: Partial<ComparisonQuestion> = {}): CandidateComparison =>
  new CandidateComparison('new', planComparisonTerms({ ...question, ...given }));

const known = (value: number): Score => ({ low: value, high: value });
const lost: Score = { low: 0, high: 10 };

type Pair = readonly [baseline: Score, candidate: Score];
const win: Pair = [known(0), known(10)];
const loss: Pair = [known(10), known(0)];
const tie: Pair = [known(7), known(7)];

/** Folds the same pair again and again until there is a verdict, at most so often. @returns the pairs folded. */
function repeat(candidate: CandidateComparison, [baseline, own]: Pair, most: number): number {
  const before = candidate.pairs;
  while (candidate.verdict === undefined && candidate.pairs < before + most) candidate.fold(0, baseline, own);
  return candidate.pairs;
}

test.each([
  [1, 8],
  [2, 10],
])('with %d candidates, a checkpoint that wins by all of the range is promoted after %d pairs', (candidates, pairs) => {
  const candidate = comparison({ candidates });
  expect(repeat(candidate, win, 1000)).toBe(pairs);
  expect(candidate.verdict).toBe('promote');
  const { verdict, decidedAt, evidence, interval } = candidate.computeOfficial(1);
  expect([verdict, decidedAt]).toEqual(['promote', pairs]);
  expect(evidence.needed).toBeCloseTo(Math.log10((2 * candidates) / 0.05), 12);
  expect(evidence.promote).toBeGreaterThanOrEqual(evidence.needed);
  expect(interval).toMatchObject({ method: 'certified', confidence: expect.closeTo(1 - 0.05 / candidates, 12) });
});

test('a losing candidate regresses by the same amount of evidence', () => {
  const candidate = comparison();
  expect(repeat(candidate, loss, 1000)).toBe(8);
  expect(candidate.computeOfficial(1)).toMatchObject({ verdict: 'regress', decidedAt: 8, difference: -10 });
});

test('without a margin nothing is ever equivalent, and the same policy twice stays inconclusive', () => {
  const candidate = comparison();
  expect(repeat(candidate, tie, 3000)).toBe(3000);
  const official = candidate.computeOfficial(1);
  expect(official).toMatchObject({ verdict: 'inconclusive', decidedAt: null, difference: 0, discordant: 0, smallestEffect: null });
  expect(official.evidence).toMatchObject({ promote: 0, regress: 0 });
  expect(official.warnings).toEqual([expect.stringContaining('never differed')]);
  // Where every episode of the candidate failed, its sameness is not what there is to mend.
  expect(candidate.computeOfficial(1, 3000).warnings).toEqual([]);
});

test('with a margin the same policy twice is equivalent, as soon as the interval lies inside of it', () => {
  const candidate = comparison({ margin: 0.5 });
  const pairs = repeat(candidate, tie, 3000);
  expect(candidate.verdict).toBe('equivalent');
  const { interval, course } = candidate.computeOfficial(1);
  expect(Math.max(-(interval?.low ?? -1), interval?.high ?? 1)).toBeLessThan(0.5);
  const before = course.at(-2);
  expect(before?.pairs).toBeLessThan(pairs);
  expect(Math.max(-(before?.low ?? 0), before?.high ?? 0)).toBeGreaterThanOrEqual(0.5);
});

test('a difference must exceed the margin', () => {
  expect(repeat(comparison({ margin: 2.5 }), win, 1000)).toBe(12);
  for (const [baseline, own] of [
    [5, 7.5],
    [7.5, 5],
  ] as const) {
    const candidate = comparison({ margin: 2.5 });
    repeat(candidate, [known(baseline), known(own)], 2000);
    expect(candidate.verdict).toBeUndefined();
  }
});

test('a quick promotion has an interval that agrees with it', () => {
  const candidate = comparison({ bounds: { low: 0, high: 500 } });
  expect(repeat(candidate, [known(100), known(356)], 1000)).toBe(14);
  const { verdict, difference, interval } = candidate.computeOfficial(1);
  expect([verdict, difference]).toEqual(['promote', 256]);
  expect(interval?.low).toBeGreaterThan(0);
  expect(interval?.low).toBeLessThan(10);
  expect(interval?.high).toBeGreaterThan(490);
});

test.each([
  { margin: 0, candidates: 1, confidence: 0.95 },
  { margin: 0, candidates: 4, confidence: 0.9875 },
  { margin: 2, candidates: 1, confidence: 0.925 },
  { margin: 2, candidates: 3, confidence: 0.975 },
])('with a margin of $margin and $candidates candidates an interval holds at $confidence', ({ margin, candidates, confidence }) => {
  const candidate = comparison({ margin, candidates });
  expect(candidate.computeOfficial(1).interval).toBeNull();
  repeat(candidate, win, 3);
  expect(candidate.computeOfficial(1).interval?.confidence).toBeCloseTo(confidence, 12);
});

/** Some better, some worse, some alike; some lose episodes. */
const course = fc
  .record({
    seed: fc.nat(10_000),
    better: fc.integer({ min: -100, max: 100 }),
    ties: fc.constantFrom(0, 0.5, 0.9),
    lost: fc.constantFrom(0, 0.01, 0.1),
  })
  .map(({ seed, better, ties, lost: share }) => {
    const random = seededRandom(seed);
    return Array.from({ length: 600 }, (): Pair => {
      if (random() < share) return [known(5), lost];
      if (random() < ties) return tie;
      const luck = Math.floor(4 * random());
      return random() < (100 + better) / 200 ? [known(luck), known(10 - luck)] : [known(10 - luck), known(luck)];
    });
  });

/** As a comparison of at most so many pairs ends. */
function settle(pairs: readonly Pair[], margin: number): CandidateFigures {
  const candidate = comparison({ margin });
  for (const [baseline, own] of pairs) if (candidate.verdict === undefined) candidate.fold(0, baseline, own);
  return candidate.computeOfficial(1);
}

const isWithheld = ({ warnings }: CandidateFigures): boolean => warnings.some((warning) => warning.includes('no candidate is promoted'));

test('the interval never contradicts the verdict', () => {
  fc.assert(
    fc.property(course, fc.constantFrom(0, 0.5, 3), (pairs, margin) => {
      const official = settle(pairs, margin);
      const { verdict, interval, warnings } = official;
      fc.pre(interval !== null && !warnings.some((warning) => warning.includes('contradict')));
      const { low, high } = interval;
      expect(low > margin).toBe(verdict === 'promote' || (isWithheld(official) && low > margin));
      expect(high < -margin).toBe(verdict === 'regress');
      expect(low > -margin && high < margin).toBe(verdict === 'equivalent');
    }),
  );
});

test('the sampled comparisons end in every possible way, so intervals are tried beside all verdicts', () => {
  const officials = fc.sample(course, { numRuns: 80, seed: 3 }).map((pairs) => settle(pairs, 3));
  expect(new Set(officials.map(({ verdict }) => verdict))).toEqual(new Set(['equivalent', 'inconclusive', 'promote', 'regress']));
  expect(officials.some((official) => isWithheld(official) && (official.interval?.low ?? 0) > 3)).toBe(true);
});

test('the interval only gets narrower, also in its course', () => {
  fc.assert(
    fc.property(course, fc.constantFrom(0, 2), (pairs, margin) => {
      const { interval, course: points } = settle(pairs, margin);
      for (const [position, { low, high }] of points.slice(1).entries()) {
        expect(low).toBeGreaterThanOrEqual(points[position]?.low ?? Infinity);
        expect(high).toBeLessThanOrEqual(points[position]?.high ?? -Infinity);
      }
      expect(points.at(-1)).toMatchObject({ low: interval?.low, high: interval?.high });
    }),
    { numRuns: 30 },
  );
});

test('a promotion waits until at most 2 % of the pairs are unresolved', () => {
  const candidate = comparison();
  candidate.fold(0, known(0), lost);
  // The lost one is taken for a 0, which is no difference: evidence suffices at pair 15, and 1 of 50 is 2 %.
  repeat(candidate, win, 14);
  expect(candidate.getRunning().evidence.promote).toBeGreaterThanOrEqual(candidate.getRunning().evidence.needed);
  expect(candidate.verdict).toBeUndefined();
  expect(candidate.computeOfficial(1)).toMatchObject({ verdict: 'inconclusive', warnings: [expect.stringContaining('1 of 15 pairs')] });
  repeat(candidate, win, 1000);
  expect(candidate.computeOfficial(1)).toMatchObject({ verdict: 'promote', decidedAt: 50, unresolvedPairs: 1, warnings: [] });
});

test('unresolved pairs do not delay a regression', () => {
  const candidate = comparison();
  candidate.fold(0, known(10), lost);
  expect(repeat(candidate, loss, 1000)).toBe(9);
  expect(candidate.verdict).toBe('regress');
});

test.each<[string, Pair, number, number]>([
  ['the candidate', [known(4), lost], -0.4, 0.6],
  ['the baseline', [lost, known(4)], -0.6, 0.4],
  ['both', [lost, lost], -1, 1],
])('an unresolved episode of %s counts at its worst for either direction', (_name, [baseline, own], low, high) => {
  const candidate = comparison();
  candidate.fold(0, baseline, own);
  const meanBet = 0.3059548542337663;
  const { promote, regress } = candidate.getRunning().evidence;
  expect(10 ** promote).toBeCloseTo(1 + meanBet * low, 12);
  expect(10 ** regress).toBeCloseTo(1 - meanBet * high, 12);
  expect(candidate.computeOfficial(1)).toMatchObject({ pairs: 1, unresolvedPairs: 1, mean: null, baselineMean: null, difference: null });
});

test('a verdict is final: no further pair is taken', () => {
  const candidate = comparison();
  repeat(candidate, win, 1000);
  const official = JSON.stringify(candidate.computeOfficial(1));
  expect(() => candidate.fold(0, known(10), known(0))).toThrow(RangeError);
  expect(JSON.stringify(candidate.computeOfficial(1))).toBe(official);
});

test('a small comparison has the figures computed by hand', () => {
  const candidate = comparison();
  const pairs = [
    [3, 4],
    [5, 5],
    [7, 9],
    [5, 3],
  ] as const;
  for (const [baseline, own] of pairs) candidate.fold(0, known(baseline), known(own));
  candidate.fold(0, known(10), lost);
  const official = candidate.computeOfficial(1);
  expect(official).toMatchObject({ pairs: 5, unresolvedPairs: 1, mean: 5.25, baselineMean: 5, difference: 0.25, discordant: 3 });
  expect(official.standardError).toBeCloseTo(Math.sqrt(8.75 / 3 / 4), 12);
  expect(official.smallestEffect).toBeCloseTo(2.390955178723906, 12);
  // U = 1 + 2 + 4 + ½ of 16 comparisons
  expect(official.probabilityOfImprovement?.value).toBeCloseTo(7.5 / 16, 12);
  expect(official.course).toHaveLength(5);
  expect(official.course[3]).toMatchObject({
    pairs: 4,
    promote: expect.closeTo(0.009329498036486404, 12),
    regress: expect.closeTo(-0.01688012667011949, 12),
    difference: 0.25,
  });
});

test('the smallest effect is given only with an open verdict', () => {
  const candidate = comparison();
  candidate.fold(0, known(5), known(4));
  repeat(candidate, win, 3);
  expect(candidate.computeOfficial(1).smallestEffect).toBeGreaterThan(0);
  repeat(candidate, win, 1000);
  expect(candidate.computeOfficial(1)).toMatchObject({ verdict: 'promote', smallestEffect: null });
});

test('the course is evenly spaced, has at most 128 points, and ends with the last pair', () => {
  const candidate = comparison();
  expect(candidate.computeOfficial(1).course).toEqual([]);
  repeat(candidate, tie, 1001);
  const pairs = candidate.computeOfficial(1).course.map((point) => point.pairs);
  expect(pairs).toEqual([...Array.from({ length: 125 }, (_, point) => 8 * (point + 1)), 1001]);
});

test('the scale and offset of the return change nothing but the units', () => {
  const random = seededRandom(8);
  const [plain, moved] = [comparison({ margin: 1 }), comparison({ margin: 128, bounds: { low: -640, high: 640 } })];
  for (let pair = 0; pair < 150; pair += 1) {
    const [baseline, own] = [Math.floor(random() * 6), Math.floor(random() * 7)];
    plain.fold(0, known(baseline), known(own));
    moved.fold(0, known(128 * baseline - 640), known(128 * own - 640));
  }
  const [one, other] = [plain.computeOfficial(1), moved.computeOfficial(1)];
  expect(other.verdict).toBe(one.verdict);
  expect(other.evidence.promote).toBeCloseTo(one.evidence.promote, 10);
  expect(other.difference).toBeCloseTo(128 * (one.difference ?? Number.NaN), 9);
  expect(other.interval?.low).toBeCloseTo(128 * (one.interval?.low ?? Number.NaN), 9);
  expect(other.interval?.high).toBeCloseTo(128 * (one.interval?.high ?? Number.NaN), 9);
});

test('the number of pairs still needed is whole, at least 1 before a verdict, and 0 after', () => {
  const score = fc.oneof(fc.constant(lost), fc.integer({ min: 0, max: 10 }).map(known));
  fc.assert(
    fc.property(fc.array(fc.tuple(score, score), { maxLength: 80 }), fc.constantFrom(0, 1, 5), (pairs, margin) => {
      const candidate = comparison({ margin });
      for (const [baseline, own] of pairs) {
        if (candidate.verdict !== undefined) break;
        const remaining = candidate.estimateRemaining();
        expect(remaining >= 1 && (Number.isSafeInteger(remaining) || remaining === Infinity)).toBe(true);
        candidate.fold(0, baseline, own);
      }
      expect(candidate.estimateRemaining() === 0).toBe(candidate.verdict !== undefined);
    }),
  );
});

test.each([
  ['promote', 0.75, 0],
  ['regress', 0.25, 0],
  ['equivalent', 0.5, 1.5],
] as const)('halfway to %s, what is still needed is mostly known within a factor of four', (verdict, share, margin) => {
  const random = seededRandom(3);
  const ratios = Array.from({ length: 61 }, () => {
    const candidate = comparison({ margin });
    const estimates: number[] = [];
    while (candidate.verdict === undefined) {
      estimates.push(candidate.estimateRemaining());
      const draw = random();
      candidate.fold(0, ...(draw < 0.6 ? tie : draw < 0.6 + 0.4 * share ? win : loss));
    }
    expect(candidate.verdict).toBe(verdict);
    return (estimates[Math.floor(candidate.pairs / 2)] ?? Number.NaN) / Math.ceil(candidate.pairs / 2);
  });
  const [median = Number.NaN] = ratios.sort((a, b) => a - b).slice(30);
  expect(median).toBeGreaterThan(1 / 4);
  expect(median).toBeLessThan(4);
});

test('differences that drift are reported', () => {
  const candidate = comparison();
  for (let pair = 0; pair < 1000; pair += 1) candidate.fold(0, ...(pair % 2 === 0 ? win : loss));
  // Without these, the wins that follow would end the comparison before they contradict what came before.
  repeat(candidate, [lost, lost], 40);
  repeat(candidate, win, 500);
  expect(candidate.computeOfficial(1).warnings).toEqual([
    expect.stringContaining('40 of 1540 pairs are unresolved'),
    expect.stringContaining('contradict every mean'),
  ]);
});

test('the probability of improvement uses the first hundred thousand pairs, and says so', () => {
  const candidate = comparison();
  repeat(candidate, tie, 100_000);
  for (let pair = 0; pair < 3; pair += 1) candidate.fold(0, ...win);
  expect(candidate.computeOfficial(1)).toMatchObject({
    probabilityOfImprovement: { value: 0.5 },
    warnings: [expect.stringContaining('first 100000 resolved pairs')],
  });
});

test.each<[string, Partial<ComparisonQuestion>, RegExp]>([
  ['no bounds', { bounds: undefined }, /reward\.bounds: .*declare the lowest and highest possible return/],
  ['bounds in the wrong order', { bounds: { low: 1, high: 0 } }, /reward\.bounds/],
  ['a negative margin', { margin: -1 }, /margin: expected 0, or a number from 0\.01 .* to below 10 .*, got -1/],
  ['a margin as wide as the range', { margin: 10 }, /margin/],
  ['a margin out of reach', { margin: 0.001 }, /margin/],
  ['certainty', { confidence: 1 }, /confidence: expected a number above 0\.5 and at most 0\.9999999999999998, got 1/],
  ['a failure score that is no possible return', { failureScores: { timeout: 0, crash: -1 } }, /failureScores\.crash: .*\[0, 10\], got -1/],
])('%s is refused with the field and the remedy', (_name, given, message) => {
  expect(() => comparison(given)).toThrow(InputError);
  expect(() => comparison(given)).toThrow(message);
});
