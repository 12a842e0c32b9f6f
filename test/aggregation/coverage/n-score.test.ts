import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { NScoreTest } from '../../../bench/coverage/n-score.ts';
import { seededRandom } from '../seeded-random.ts';

type Pair = readonly [baseline: number, candidate: number];

/** The published definition, word for word: the growth that either posterior mean promises, for each of a hundred bets, over all pairs of bins. */
function byDefinition(steps: number, pairs: readonly Pair[]): { promote: number; regress: number } {
  const bins = Array.from({ length: steps + 1 }, (_, bin) => bin / steps);
  const [baseline, candidate] = [bins.map(() => 2 / bins.length), bins.map(() => 2 / bins.length)];
  const logs = { promote: 0, regress: 0 };
  for (const [place, [low, high]] of pairs.entries()) {
    const shares = (counts: readonly number[]): number[] => counts.map((count) => count / (place + 2));
    const bet = bestBet(bins, shares(baseline), shares(candidate));
    if (bet > 0) logs.promote += Math.log(1 + bet * (high - low));
    if (bet < 0) logs.regress += Math.log(1 + bet * (high - low));
    for (const [counts, value] of [
      [baseline, low],
      [candidate, high],
    ] as const) {
      const bin = bins.findLastIndex((edge) => edge <= value + 1e-9);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
  }
  return logs;
}

function bestBet(bins: readonly number[], baseline: readonly number[], candidate: readonly number[]): number {
  const mean = (shares: readonly number[]): number => bins.reduce((sum, value, bin) => sum + value * (shares[bin] ?? 0), 0);
  const excess = mean(candidate) - mean(baseline);
  if (Math.abs(excess) < 1e-12) return 0;
  let [best, fastest] = [0, -Infinity];
  for (let place = 0; place < 100; place += 1) {
    const bet = (Math.sign(excess) * (place + 0.5)) / 100;
    let growth = 0;
    for (const [low, value] of bins.entries())
      for (const [high, other] of bins.entries())
        growth += (baseline[low] ?? 0) * (candidate[high] ?? 0) * Math.log(1 + bet * (other - value));
    if (growth > fastest + 1e-13) [best, fastest] = [bet, growth];
  }
  return best;
}

test.each([1, 4])('N-SCORE with %i steps bets as its definition says', (steps) => {
  const value = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  const success = fc.constantFrom(0, 1);
  const returns = steps === 1 ? success : value;
  fc.assert(
    fc.property(fc.array(fc.tuple(returns, returns), { maxLength: 25 }), (pairs) => {
      const nScore = new NScoreTest(steps, 0.05);
      for (const [baseline, candidate] of pairs) nScore.fold(baseline, candidate);
      const expected = byDefinition(steps, pairs);
      expect(nScore.logs.promote).toBeCloseTo(expected.promote, 9);
      expect(nScore.logs.regress).toBeCloseTo(expected.regress, 9);
    }),
    { numRuns: 40 },
  );
});

test('a candidate that always wins is promoted after six pairs, and one that always loses is regressed as soon', () => {
  const pairsOf = (baseline: number, candidate: number): readonly [string, number] => {
    const nScore = new NScoreTest(1, 0.05);
    for (let pairs = 1; ; pairs += 1) {
      nScore.fold(baseline, candidate);
      if (nScore.verdict !== undefined) return [nScore.verdict, pairs];
    }
  };
  expect(pairsOf(0, 1)).toEqual(['promote', 6]);
  expect(pairsOf(1, 0)).toEqual(['regress', 6]);
});

test('N-SCORE is wrong about equal checkpoints at most at the rate that it states for each direction', () => {
  const random = seededRandom(17);
  const runs = 400;
  const verdicts = Array.from({ length: runs }, () => {
    const nScore = new NScoreTest(1, 0.05);
    for (let pairs = 0; pairs < 200 && nScore.verdict === undefined; pairs += 1)
      nScore.fold(random() < 0.5 ? 1 : 0, random() < 0.5 ? 1 : 0);
    return nScore.verdict;
  });
  const most = 0.05 * runs + 3 * Math.sqrt(0.05 * 0.95 * runs);
  for (const direction of ['promote', 'regress'] as const)
    expect(verdicts.filter((verdict) => verdict === direction).length).toBeLessThanOrEqual(most);
});
