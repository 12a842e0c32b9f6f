import { computeBiasReducedMean } from '../../src/aggregation/results/bias-reduced-mean.ts';
import { CandidateComparison } from '../../src/aggregation/comparison/candidate-comparison.ts';
import { planComparisonTerms } from '../../src/aggregation/comparison/comparison-terms.ts';
import { DifferenceSequence } from '../../src/aggregation/comparison/difference-sequence.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import type { Distribution } from './distributions.ts';
import { stopOf } from './evaluation-scenarios.ts';
import type { SequentialRule } from './evaluation-scenarios.ts';
import { successes } from './pairs.ts';
import type { Scenario, Trial } from './scenario.ts';
import type { Target } from './scenario.ts';

const BUDGET_PAIRS = 20_000;
const THOUSANDTHS = 1000;

/** What may be quoted at the stop of a rule, and how far off it is on average. */
export function biased(rule: SequentialRule, distribution: Distribution, atMost: number | undefined): Scenario {
  const { name, halfWidth, bounds, mean: truth, draw } = distribution;
  const off = (estimate: number): number => Math.round(((estimate - truth) / halfWidth) * THOUSANDTHS);
  const trial = (random: Random): Trial => {
    const stopping = createStoppingRule(stopOf(rule, halfWidth), bounds);
    const returns = new Moments();
    while (!stopping.isSatisfied()) {
      const value = draw(random);
      stopping.fold({ low: value, high: value });
      returns.add(value);
    }
    const { low = NaN, high = NaN } = stopping.computeInterval() ?? {};
    const [mean, reduced] = [returns.mean ?? NaN, computeBiasReducedMean(returns, stopping) ?? NaN];
    const outcome = low <= truth && truth <= high ? 'holds' : 'below';
    return { outcome, episodes: returns.count, errors: { mean: off(mean), middle: off((low + high) / 2), reduced: off(reduced) } };
  };
  return { group: 'bias', name: `${rule}, ${name}, h = ${halfWidth}`, targets: atMost === undefined ? [] : [within(atMost)], trial };
}

/** The same for a candidate that is better by `difference`, at its promotion. */
export function biasedVerdict(difference: number, discordant: number, atMost: number): Scenario {
  const draw = successes(difference, discordant);
  const terms = planComparisonTerms({
    bounds: { low: 0, high: 1 },
    failureScores: { timeout: 0, crash: 0 },
    confidence: 0.95,
    margin: 0,
    candidates: 1,
  });
  const off = (estimate: number): number => Math.round(((estimate - difference) / difference) * THOUSANDTHS);
  const trial = (random: Random): Trial => {
    const comparison = new CandidateComparison('candidate', terms);
    const sequence = new DifferenceSequence(terms.margin, terms.needed);
    let sum = 0;
    while (comparison.verdict === undefined && comparison.pairs < BUDGET_PAIRS) {
      const { baseline, candidates } = draw(random);
      const own = candidates[0] ?? NaN;
      comparison.fold(0, { low: baseline, high: baseline }, { low: own, high: own });
      sequence.fold(own - baseline, own - baseline);
      sum += own - baseline;
    }
    const { pairs: episodes, verdict: outcome = 'inconclusive', biasReducedDifference: reduced = NaN } = comparison;
    if (outcome !== 'promote') return { outcome, episodes };
    const middle = (sequence.low + sequence.high) / 2;
    return { outcome, episodes, errors: { mean: off(sum / episodes), middle: off(middle), reduced: off(reduced) } };
  };
  const name = `promoted, difference ${difference}, ${100 * discordant} % of the pairs discordant`;
  return { group: 'bias', name, targets: [within(atMost)], trial };
}

function within(atMost: number): Target {
  return { kind: 'bias', figure: 'bias', atMost };
}
