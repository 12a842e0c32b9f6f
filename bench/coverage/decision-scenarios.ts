import { PairedFold } from '../../src/aggregation/comparison/paired-fold.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import { apart, balancing, nested, success, successes, unrelated } from './pairs.ts';
import type { Draw } from './pairs.ts';
import type { DecisionOutcome, Scenario, Trial } from './scenario.ts';
import type { Target } from './scenario.ts';

const CONFIDENCE = 0.95;
/** Pairs of episodes for every candidate, unless there is a verdict before. */
const BUDGET = 2000;

const noneFalse: Target = { kind: 'share', figure: 'no false verdict', of: ['inconclusive', 'equivalent'], atLeast: 0.975 };
const swift: Target = { kind: 'episodes', figure: 'mean pairs', unit: 1, atMost: 800 };
const settled = (verdict: DecisionOutcome): Target => ({ kind: 'share', figure: 'settled rightly', of: [verdict], atLeast: 0.97 });

export const DECISION_SCENARIOS: readonly Scenario[] = [
  scenario('no difference, 20 % of the pairs discordant', successes(0), [noneFalse]),
  scenario('no difference, each succeeds in 90 % by itself', unrelated(1, success(0.9)), [noneFalse]),
  scenario('no difference, CartPole-like returns', unrelated(1, balancing(0.85)), [noneFalse]),
  scenario('no difference, 4 candidates', unrelated(4, success(0.9)), [noneFalse]),
  scenario('difference 0.05, 20 % of the pairs discordant', successes(0.05), [settled('promote'), swift]),
  scenario('difference −0.05, 20 % of the pairs discordant', successes(-0.05), [settled('regress'), swift]),
  scenario('difference 0.05, nested pairs', nested(0.9, 0.95), [settled('promote'), { ...swift, atMost: 179 }]),
  scenario('difference 0.02, nested pairs', nested(0.9, 0.92), [settled('promote')]),
  scenario('difference 0.15, each by itself', apart(success(0.8), success(0.95)), [settled('promote')]),
  scenario('difference 0.05, on the margin', successes(0.05), [noneFalse], 0.05),
  scenario('no difference, margin 0.05', successes(0), [], 0.05),
];

function scenario(name: string, draw: Draw, targets: readonly Target[], margin = 0): Scenario {
  const trial = (random: Random): Trial => compare({ draw, margin, confidence: CONFIDENCE, pairs: BUDGET }, random);
  return { group: 'decisions', name, targets, trial };
}

export interface ComparisonQuestion {
  readonly draw: Draw;
  readonly margin: number;
  readonly confidence: number;
  /** At most. */
  readonly pairs: number;
}

/** One comparison until its verdicts or the end of its budget. The verdicts are the official ones; bootstraps are left out. */
export function compare({ draw, margin, confidence, pairs }: ComparisonQuestion, random: Random): Trial {
  let next = draw(random);
  const arms = 1 + next.candidates.length;
  const fold = new PairedFold({
    bounds: { low: 0, high: 1 },
    failureScores: { timeout: 0, crash: 0 },
    tasks: 1,
    candidates: next.candidates.map((_, candidate) => `candidate ${candidate}`),
    confidence,
    margin,
    budgetEpisodes: arms * pairs,
    windowSize: 1,
    seed: 0,
  });
  for (let index = 0; fold.ended === undefined && index < pairs; index += 1) {
    // A candidate whose verdict is reached plays no more.
    for (const [candidate, value] of next.candidates.entries())
      if (fold.isLive(candidate + 1)) fold.offer(candidate + 1, index, 0, completed(value));
    fold.offer(0, index, 0, completed(next.baseline));
    next = draw(random);
  }
  return { outcome: firstVerdict(fold), episodes: fold.folded };
}

/** Of several candidates, the first verdict that claims a difference, if any does. */
function firstVerdict(fold: PairedFold): DecisionOutcome {
  const verdicts = fold.getRunning().candidates.map(({ verdict }): DecisionOutcome => verdict ?? 'inconclusive');
  return verdicts.find((verdict) => verdict === 'promote' || verdict === 'regress') ?? verdicts[0] ?? 'inconclusive';
}

function completed(value: number): Outcome {
  return { kind: 'completed', return: value, length: 1, metrics: {} };
}
