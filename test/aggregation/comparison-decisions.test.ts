import { expect, test } from 'vitest';
import { CandidateComparison } from '../../src/aggregation/comparison/candidate-comparison.ts';
import type { Decision } from '../../src/aggregation/comparison/candidate-comparison.ts';
import { planComparisonTerms } from '../../src/aggregation/comparison/comparison-terms.ts';
import type { ComparisonTerms } from '../../src/aggregation/comparison/comparison-terms.ts';
import { EquivalenceEvidence } from '../../src/aggregation/comparison/equivalence-evidence.ts';
import { PairedEvidence } from '../../src/aggregation/comparison/paired-evidence.ts';
import { seededRandom } from './seeded-random.ts';

const BUDGET = 2000;

type Draw = (random: () => number) => readonly [baseline: number, candidate: number];

/** How one comparison of one candidate ends, at 95 % and with returns in [0, 1]. */
type Compare = (draw: Draw, random: () => number) => Ending;

interface Ending {
  readonly verdict: Decision | 'open';
  readonly pairs: number;
}

/** The comparison itself. */
const whole =
  (margin = 0): Compare =>
  (draw, random) => {
    const comparison = new CandidateComparison('new', termsWith(margin));
    while (comparison.verdict === undefined && comparison.pairs < BUDGET) {
      const [baseline, candidate] = draw(random);
      comparison.fold(0, { low: baseline, high: baseline }, { low: candidate, high: candidate });
    }
    return { verdict: comparison.verdict ?? 'open', pairs: comparison.pairs };
  };

/** What it comes to: the evidence for each verdict. Most of a comparison's work is its interval, which has no say in that. */
const byEvidence =
  (margin = 0): Compare =>
  (draw, random) => {
    const { needed } = termsWith(margin);
    const directions = new PairedEvidence(margin);
    const equivalence = margin > 0 ? new EquivalenceEvidence(margin, needed) : undefined;
    for (let pairs = 1; pairs <= BUDGET; pairs += 1) {
      const [baseline, candidate] = draw(random);
      const difference = candidate - baseline;
      directions.fold(difference, difference);
      equivalence?.fold(difference, difference);
      if (directions.promote >= needed) return { verdict: 'promote', pairs };
      if (directions.regress >= needed) return { verdict: 'regress', pairs };
      if (equivalence?.isWithinMargin) return { verdict: 'equivalent', pairs };
    }
    return { verdict: 'open', pairs: BUDGET };
  };

function termsWith(margin: number): ComparisonTerms {
  const failureScores = { timeout: 0, crash: 0 };
  return planComparisonTerms({ bounds: { low: 0, high: 1 }, failureScores, confidence: 0.95, margin, candidates: 1 });
}

function endings(compare: Compare, draw: Draw, runs: number): readonly Ending[] {
  const random = seededRandom(20_261);
  return Array.from({ length: runs }, () => compare(draw, random));
}

interface Decisions extends Readonly<Record<Ending['verdict'], number>> {
  readonly meanPairs: number;
}

function decisions(compare: Compare, draw: Draw, runs: number): Decisions {
  const counts = { promote: 0, regress: 0, equivalent: 0, open: 0 };
  let all = 0;
  for (const { verdict, pairs } of endings(compare, draw, runs)) {
    counts[verdict] += 1;
    all += pairs;
  }
  return { ...counts, meanPairs: all / runs };
}

/** Success and failure, with these shares of pairs that only the candidate, or only the baseline, succeeds in. */
const discordant =
  (wins: number, losses: number): Draw =>
  (random) => {
    const position = random();
    return position < wins ? [0, 1] : position < wins + losses ? [1, 0] : [1, 1];
  };

const uniform: Draw = (random) => [random(), random()];

test.each([
  ['equals', discordant(0.1, 0.1), 0],
  ['a better one', discordant(0.125, 0.075), 0],
  ['a worse one', discordant(0.075, 0.125), 0],
  ['returns of any size', uniform, 0],
  ['equals, with a margin', discordant(0.1, 0.1), 0.1],
  ['a difference of just the margin', discordant(0.15, 0.05), 0.1],
  ['a difference of twice the margin', discordant(0.05, 0.25), 0.1],
])('verdicts are those of the evidence, and come with the same pair: %s', (_name, draw, margin) => {
  expect(endings(byEvidence(margin), draw, 20)).toEqual(endings(whole(margin), draw, 20));
});

test.each([
  ['20 % of the pairs differ, either way as often', discordant(0.1, 0.1)],
  ['returns are independent and uniform', uniform],
])('no false decision in 97.5 % of comparisons of equals: %s', (_name, draw) => {
  const { promote, regress, equivalent, open } = decisions(byEvidence(), draw, 1000);
  // There are some 18. Half the threshold, a forgotten split between the two directions, would make some 41, and 25 or fewer once in 200 studies.
  expect(promote + regress).toBeLessThanOrEqual(25);
  expect([equivalent, promote + regress + open]).toEqual([0, 1000]);
});

test('the same policy twice is never decided without a margin', () => {
  const twice: Draw = (random) => {
    const value = random();
    return [value, value];
  };
  expect(decisions(whole(), twice, 20)).toMatchObject({ open: 20, meanPairs: BUDGET });
});

test.each([
  { direction: 'better', right: 'promote', draw: discordant(0.125, 0.075) },
  { direction: 'worse', right: 'regress', draw: discordant(0.075, 0.125) },
] as const)('one that is $direction by .05, where 20 % of the pairs differ, is settled rightly and soon', ({ right, draw }) => {
  const found = decisions(byEvidence(), draw, 2000);
  expect(found[right]).toBeGreaterThanOrEqual(1940);
  expect(found.promote + found.regress - found[right]).toBeLessThanOrEqual(5);
  expect(found.meanPairs).toBeLessThanOrEqual(800);
});

test.each([
  ['above', discordant(0.15, 0.05)],
  ['below', discordant(0.05, 0.15)],
] as const)('a difference of just the margin, %s, is taken for equivalence at most at α/2, and for neither direction', (_name, draw) => {
  const { promote, regress, equivalent } = decisions(byEvidence(0.1), draw, 1000);
  expect(equivalent).toBeLessThanOrEqual(25);
  expect(promote + regress).toBeLessThanOrEqual(25);
});

test('equal policies are found equivalent soon, a difference of half the margin mostly within the budget', () => {
  const equals = decisions(byEvidence(0.1), discordant(0.1, 0.1), 200);
  expect([equals.equivalent, equals.promote + equals.regress]).toEqual([200, 0]);
  expect(equals.meanPairs).toBeLessThan(300);
  expect(decisions(byEvidence(0.1), discordant(0.125, 0.075), 200).equivalent).toBeGreaterThan(160);
});
