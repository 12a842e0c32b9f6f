import { PrefixFold } from '../../src/aggregation/prefix-fold.ts';
import type { Stop, StoppingRule } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import type { Distribution } from './distributions.ts';
import type { CoverageOutcome, Trial } from './scenario.ts';

/** Sandboxes at work at once; episodes end in another order than they began. */
const SANDBOXES = 128;
/** No right rule comes near to it; a broken one must not play for ever. */
const BUDGET = 200_000;
/** Of the returns on the lower bound that are not lost, those that a failed episode is scored with. */
const FAILED_SHARE = 0.5;

interface Underway {
  readonly index: number;
  readonly outcome: Outcome;
  readonly endsAt: number;
}

/**
 * One evaluation from the first episode to the stop, as the product does it: outcomes reach the fold in the order in which they end, and
 * returns on the lower bound are in part failures that the suite scores. The interval is taken from the rule itself: it is the one that the
 * official result states, which would also bootstrap figures that are not looked at here.
 */
export function evaluate(distribution: Distribution, stop: Stop, random: Random): Trial {
  const rule = createStoppingRule(stop, distribution.bounds);
  const worst = distribution.bounds?.low ?? 0;
  const fold = new PrefixFold({
    bounds: distribution.bounds,
    failureScores: { timeout: worst, crash: worst },
    tasks: [{ name: 'only', weight: 1 }],
    metrics: [],
    rule,
    budgetEpisodes: BUDGET,
    windowSize: 2 * SANDBOXES,
  });
  // How many episodes a fixed number still takes is known, and no more are begun.
  play(fold, stop.rule === 'fixed' ? () => rule.estimateRemaining() : () => Infinity, distribution, random);
  return { outcome: outcomeOf(rule, distribution), episodes: fold.folded };
}

/**
 * One evaluation that goes on past its stop, for `episodes`, and is looked at after every one of them: does the interval ever leave the true
 * mean out? Only a rule whose confidence is about all looks at once survives that.
 */
export function watch(distribution: Distribution, stop: Stop, episodes: number, random: Random): Trial {
  const rule = createStoppingRule(stop, distribution.bounds);
  for (let episode = 1; episode <= episodes; episode += 1) {
    const value = distribution.draw(random);
    rule.fold({ low: value, high: value });
    const outcome = outcomeOf(rule, distribution);
    if (outcome === 'below' || outcome === 'above') return { outcome, episodes: episode };
  }
  return { outcome: 'holds', episodes };
}

/**
 * Feeds the fold until it ends, from as many sandboxes as there are, none of them further ahead than the fold has room for.
 *
 * @param needed episodes that are still to be folded, at most.
 */
function play(fold: PrefixFold, needed: () => number, distribution: Distribution, random: Random): void {
  const underway: Underway[] = [];
  let [next, now] = [0, 0];
  while (fold.ended === undefined) {
    const end = fold.folded + Math.min(2 * SANDBOXES, needed());
    while (underway.length < SANDBOXES && next < end) {
      insert(underway, begin(next, now, distribution, random));
      next += 1;
    }
    const first = underway.pop();
    if (first === undefined) throw new RangeError('the fold waits for an episode that is not played');
    now = first.endsAt;
    fold.offer(first.index, 0, first.outcome);
  }
}

/** The better an episode goes, the longer it lasts, as where failing ends it: so the first to end are the worst. */
function begin(index: number, now: number, distribution: Distribution, random: Random): Underway {
  const value = distribution.draw(random);
  const standardised = (value - distribution.mean) / Math.sqrt(distribution.variance);
  const length = (0.75 + random() / 2) / (1 + Math.exp(-standardised));
  return { index, outcome: reported(value, distribution, random), endsAt: now + length };
}

function reported(value: number, { bounds, lostShare }: Distribution, random: Random): Outcome {
  if (value === bounds?.low) {
    if (random() < lostShare) return { kind: 'lost', detail: 'simulated' };
    if (random() < FAILED_SHARE) return { kind: 'failed', cause: 'environment-crash', detail: 'simulated' };
  }
  return { kind: 'completed', return: value, length: 1, metrics: {} };
}

/** Keeps the episodes in the order in which they end, the first of them last. */
function insert(underway: Underway[], episode: Underway): void {
  let [from, to] = [0, underway.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((underway[middle]?.endsAt ?? 0) > episode.endsAt) from = middle + 1;
    else to = middle;
  }
  underway.splice(from, 0, episode);
}

function outcomeOf(rule: StoppingRule, { mean }: Distribution): CoverageOutcome {
  const interval = rule.computeInterval();
  if (interval === undefined) return 'no interval';
  if (interval.high < mean) return 'below';
  return interval.low > mean ? 'above' : 'holds';
}
