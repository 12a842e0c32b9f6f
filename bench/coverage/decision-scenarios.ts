import { PairedFold } from '../../src/aggregation/comparison/paired-fold.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import type { DecisionOutcome, Scenario, Trial } from './scenario.ts';
import type { Target } from './targets.ts';
import { TwoProportionsTest } from './two-proportions.ts';

const CONFIDENCE = 0.95;
/** Pairs of episodes for every candidate, unless there is a verdict before. */
const BUDGET = 2000;

/** Returns of the baseline and of each candidate at one index. */
type Draw = (random: Random) => { readonly baseline: number; readonly candidates: readonly number[] };

const noneFalse: Target = { kind: 'share', figure: 'no false verdict', of: ['inconclusive', 'equivalent'], atLeast: 0.975 };
const swift: Target = { kind: 'episodes', figure: 'mean pairs', unit: 1, atMost: 800 };
const settled = (verdict: DecisionOutcome): Target => ({ kind: 'share', figure: 'settled rightly', of: [verdict], atLeast: 0.97 });

/** With successes and failures: this share of the pairs is discordant, and the candidate wins `difference` more of all pairs than it loses. */
export const successes =
  (difference: number, discordant = 0.2): Draw =>
  (random) => {
    const where = random();
    const wins = (discordant + difference) / 2;
    if (where < wins) return { baseline: 0, candidates: [1] };
    if (where < discordant) return { baseline: 1, candidates: [0] };
    const both = random() < 0.8 ? 1 : 0;
    return { baseline: both, candidates: [both] };
  };

/** As good as each other, each by itself: nothing is gained from the pairs. */
const unrelated =
  (candidates: number, draw: (random: Random) => number): Draw =>
  (random) => ({ baseline: draw(random), candidates: Array.from({ length: candidates }, () => draw(random)) });

/** The ordinary case with shared seeds: the candidate fails only where the baseline does, which succeeds in 90 %. */
const nested =
  (difference: number): Draw =>
  (random) => {
    const where = random();
    return { baseline: where < 0.9 ? 1 : 0, candidates: [where < 0.9 + difference ? 1 : 0] };
  };

/** Successes with these probabilities, each by itself. */
const apart =
  (baseline: number, candidate: number): Draw =>
  (random) => ({ baseline: random() < baseline ? 1 : 0, candidates: [random() < candidate ? 1 : 0] });

const success = (random: Random): number => (random() < 0.9 ? 1 : 0);
const balancing = (random: Random): number => (random() < 0.85 ? 1 : random());

export const DECISION_SCENARIOS: readonly Scenario[] = [
  scenario('no difference, 20 % of the pairs discordant', successes(0), [noneFalse]),
  scenario('no difference, each succeeds in 90 % by itself', unrelated(1, success), [noneFalse]),
  scenario('no difference, CartPole-like returns', unrelated(1, balancing), [noneFalse]),
  scenario('no difference, 4 candidates', unrelated(4, success), [noneFalse]),
  scenario('difference 0.05, 20 % of the pairs discordant', successes(0.05), [settled('promote'), swift]),
  scenario('difference −0.05, 20 % of the pairs discordant', successes(-0.05), [settled('regress'), swift]),
  scenario('difference 0.05, nested pairs', nested(0.05), [settled('promote'), { ...swift, atMost: 179 }]),
  scenario('difference 0.02, nested pairs', nested(0.02), [settled('promote')]),
  scenario('difference 0.15, each by itself', apart(0.8, 0.95), [settled('promote')]),
  published('difference 0.05, nested pairs', nested(0.05)),
  published('difference 0.15, each by itself', apart(0.8, 0.95)),
  published('no difference, each succeeds in 90 % by itself', apart(0.9, 0.9)),
  scenario('difference 0.05, on the margin', successes(0.05), [noneFalse], 0.05),
  scenario('no difference, margin 0.05', successes(0), [], 0.05),
];

function scenario(name: string, draw: Draw, targets: readonly Target[], margin = 0): Scenario {
  return { group: 'decisions', name, targets, trial: (random) => compare(draw, margin, random) };
}

/** The same comparison by a published test, to stand beside: nothing is promised of it here. */
function published(name: string, draw: Draw): Scenario {
  return {
    group: 'decisions',
    name: `${name}, by the test of two proportions`,
    targets: [],
    trial: (random) => testProportions(draw, random),
  };
}

function testProportions(draw: Draw, random: Random): Trial {
  const test = new TwoProportionsTest();
  for (let pairs = 1; pairs <= BUDGET; pairs += 1) {
    const { baseline, candidates } = draw(random);
    test.fold(baseline, candidates[0] ?? 0);
    if (test.log >= -Math.log(1 - CONFIDENCE)) return { outcome: test.favoursCandidate ? 'promote' : 'regress', episodes: pairs };
  }
  return { outcome: 'inconclusive', episodes: BUDGET };
}

/** One comparison until its verdicts or the end of its budget. The verdicts are the official ones; bootstraps are left out. */
function compare(draw: Draw, margin: number, random: Random): Trial {
  let next = draw(random);
  const arms = 1 + next.candidates.length;
  const fold = new PairedFold({
    bounds: { low: 0, high: 1 },
    failureScores: { timeout: 0, crash: 0 },
    tasks: 1,
    candidates: next.candidates.map((_, candidate) => `candidate ${candidate}`),
    confidence: CONFIDENCE,
    margin,
    budgetEpisodes: arms * BUDGET,
    windowSize: 1,
    seed: 0,
  });
  for (let index = 0; fold.ended === undefined && index < BUDGET; index += 1) {
    // A candidate whose verdict is reached plays no more.
    for (const [candidate, value] of next.candidates.entries())
      if (fold.live(candidate + 1)) fold.offer(candidate + 1, index, 0, completed(value));
    fold.offer(0, index, 0, completed(next.baseline));
    next = draw(random);
  }
  return { outcome: firstVerdict(fold), episodes: fold.folded };
}

/** Of several candidates, the first verdict that claims a difference, if any does. */
function firstVerdict(fold: PairedFold): DecisionOutcome {
  const verdicts = fold.running().candidates.map(({ verdict }): DecisionOutcome => verdict ?? 'inconclusive');
  return verdicts.find((verdict) => verdict === 'promote' || verdict === 'regress') ?? verdicts[0] ?? 'inconclusive';
}

function completed(value: number): Outcome {
  return { kind: 'completed', return: value, length: 1, metrics: {} };
}
