import { expect, test } from 'vitest';
import { CandidateComparison } from '../../src/aggregation/candidate-comparison.ts';
import { comparisonTerms } from '../../src/aggregation/comparison-terms.ts';
import { seededRandom } from './seeded-random.ts';

const BUDGET = 2000;

type Draw = (random: () => number) => readonly [baseline: number, candidate: number];

interface Decisions {
  readonly promote: number;
  readonly regress: number;
  readonly equivalent: number;
  readonly open: number;
  readonly meanPairs: number;
}

/** Whole comparisons of one candidate at 95 %, returns in [0, 1], each with a budget of 2,000 pairs. */
function decide(draw: Draw, runs: number, margin = 0): Decisions {
  const failureScores = { timeout: 0, crash: 0 };
  const terms = comparisonTerms({ bounds: { low: 0, high: 1 }, failureScores, confidence: 0.95, margin, candidates: 1 });
  const random = seededRandom(20_261);
  const counts = { promote: 0, regress: 0, equivalent: 0, open: 0 };
  let pairs = 0;
  for (let run = 0; run < runs; run += 1) {
    const comparison = new CandidateComparison('new', terms);
    while (comparison.verdict === undefined && comparison.pairs < BUDGET) {
      const [baseline, candidate] = draw(random);
      comparison.fold(0, { low: baseline, high: baseline }, { low: candidate, high: candidate });
    }
    counts[comparison.verdict ?? 'open'] += 1;
    pairs += comparison.pairs;
  }
  return { ...counts, meanPairs: pairs / runs };
}

/** Success and failure, with these shares of pairs that only the candidate, or only the baseline, succeeds in. */
const discordant =
  (wins: number, losses: number): Draw =>
  (random) => {
    const position = random();
    return position < wins ? [0, 1] : position < wins + losses ? [1, 0] : [1, 1];
  };

test.each<[string, Draw]>([
  ['20 % of the pairs differ, either way as often', discordant(0.1, 0.1)],
  ['returns are independent and uniform', (random) => [random(), random()]],
])('no false decision in 97.5 % of comparisons of equals: %s', (_name, draw) => {
  const { promote, regress, equivalent, open } = decide(draw, 2000);
  // Half the threshold, a forgotten split between the two directions, would make some 70 false decisions.
  expect(promote + regress).toBeLessThanOrEqual(50);
  expect([equivalent, promote + regress + open]).toEqual([0, 2000]);
});

test('the same policy twice is never decided without a margin', () => {
  const twice: Draw = (random) => {
    const value = random();
    return [value, value];
  };
  expect(decide(twice, 20)).toMatchObject({ open: 20, meanPairs: BUDGET });
});

test.each([
  { direction: 'better', right: 'promote', draw: discordant(0.125, 0.075) },
  { direction: 'worse', right: 'regress', draw: discordant(0.075, 0.125) },
] as const)('one that is $direction by .05, where 20 % of the pairs differ, is settled rightly and soon', ({ right, draw }) => {
  const decisions = decide(draw, 2000);
  expect(decisions[right]).toBeGreaterThanOrEqual(1940);
  expect(decisions.promote + decisions.regress - decisions[right]).toBeLessThanOrEqual(5);
  expect(decisions.meanPairs).toBeLessThanOrEqual(800);
});

test.each([
  ['above', discordant(0.15, 0.05)],
  ['below', discordant(0.05, 0.15)],
] as const)('a difference of just the margin, %s, is taken for equivalence at most at α/2, and for neither direction', (_name, draw) => {
  const { promote, regress, equivalent } = decide(draw, 1000, 0.1);
  expect(equivalent).toBeLessThanOrEqual(25);
  expect(promote + regress).toBeLessThanOrEqual(25);
});

test('equals are found equivalent soon, a difference of half the margin mostly within the budget', () => {
  const equals = decide(discordant(0.1, 0.1), 200, 0.1);
  expect([equals.equivalent, equals.promote + equals.regress]).toEqual([200, 0]);
  expect(equals.meanPairs).toBeLessThan(300);
  expect(decide(discordant(0.125, 0.075), 200, 0.1).equivalent).toBeGreaterThan(160);
});
