import { FIRST_LOOK } from '../stopping/approximate-rule.ts';
import { AsymptoticSequence, FEWEST_VALUES } from '../stopping/asymptotic-sequence.ts';
import type { Bounds } from '../intervals/bounds.ts';
import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import type { SimulatedReturns } from './simulated-returns.ts';
import type { Stop } from '../stopping/stopping-rule.ts';

/** Stopping rules that depend on the returns, so that the number of episodes is random. */
export type SequentialStop = Exclude<Stop, { rule: 'fixed' }>;

/** How a stopping rule is simulated in bounded time. */
export interface AffordableSimulation {
  /** The rule itself, or one with a wider half-width where the rule itself would take too long. */
  readonly stop: SequentialStop;
  /** Episodes of the rule itself for one of the simulated rule. 1 when they are the same. */
  readonly factor: number;
  readonly runs: number;
  /** Episodes after which a run is given up. */
  readonly mostEpisodes: number;
}

/** Beyond this number, the 5 % and 95 % quantiles hardly change … */
const MOST_RUNS = 200;
/** … and with fewer runs they would be little more than the extremes. */
const FEWEST_RUNS = 40;
/** The bound for all runs together, in updates of one grid point of a confidence sequence (4 or 5 ns): at most about a second. */
const MOST_WORK = 160_000_000;
/** The cost of one episode: drawing it, folding it, and asking whether the rule is satisfied. */
const EPISODE_WORK: Readonly<Record<SequentialStop['rule'], number>> = { certified: 50, approximate: 50, asymptotic: 80 };
/** Average number of live grid points of `certified` at an episode is some 80·ln(1/h) for a half-width of h on the unit scale; … */
const LIVE_POINTS = 80;
/** … but at first, while the bets are small, all 40/h of them are live for about 2/√h episodes. */
const FIRST_WORK = 80;
/** Half of the episodes that `certified` takes where returns hardly vary, in multiples of ln(2/α)/h. */
const FULL_BETS = 0.3;
/** A run may take this many times its share of the work. */
const PATIENCE = 4;
/** Squared half-widths grow by this factor: half-widths with this ratio make `approximate` look at corresponding numbers of episodes. */
const WIDENING = 1.25;

/** @param bounds needed by `certified` and `approximate`. */
export function planAffordableSimulation(
  stop: SequentialStop,
  returns: SimulatedReturns,
  bounds: Bounds | undefined,
): AffordableSimulation {
  const range = bounds === undefined ? 1 : bounds.high - bounds.low;
  let simulated = stop;
  for (let squared = WIDENING; estimateWork(simulated, returns, range) > MOST_WORK / FEWEST_RUNS; squared *= WIDENING)
    simulated = widen(stop, squared);
  const runs = Math.min(MOST_RUNS, Math.max(FEWEST_RUNS, Math.floor(MOST_WORK / estimateWork(simulated, returns, range))));
  return {
    stop: simulated,
    factor: simulated === stop ? 1 : estimateEpisodes(stop, returns, range) / estimateEpisodes(simulated, returns, range),
    runs,
    mostEpisodes: Math.ceil((PATIENCE * MOST_WORK) / runs / estimateEpisodeWork(simulated, range)),
  };
}

function widen(stop: SequentialStop, squared: number): SequentialStop {
  return { ...stop, halfWidth: stop.halfWidth * Math.sqrt(squared) };
}

function estimateWork(stop: SequentialStop, returns: SimulatedReturns, range: number): number {
  const first = stop.rule === 'certified' ? FIRST_WORK * (range / stop.halfWidth) ** 1.5 : 0;
  return first + estimateEpisodeWork(stop, range) * estimateEpisodes(stop, returns, range);
}

function estimateEpisodeWork({ rule, halfWidth }: SequentialStop, range: number): number {
  return EPISODE_WORK[rule] + (rule === 'certified' ? LIVE_POINTS * Math.log(range / halfWidth) : 0);
}

/**
 * Estimates the episodes that the spread σ² of the returns requires, or that the rule requires when they have none. Exact enough to bound the work,
 * and it scales with the half-width as the number of episodes does, since intervals behave like limits of random walks, alike at every scale.
 *
 * For `certified`, capital that is bet with λ = h/σ² against a mean that is h away grows by h²/2σ² an episode. Where nearly all of it is bet, the two
 * ends take turns: about 0.6·ln(2/α)/h episodes.
 */
function estimateEpisodes(stop: SequentialStop, { variance }: SimulatedReturns, range: number): number {
  const { halfWidth, confidence } = stop;
  const bySpread = variance / halfWidth ** 2;
  switch (stop.rule) {
    case 'certified':
      return 2 * Math.log(2 / (1 - confidence)) * Math.max(bySpread, FULL_BETS * (range / halfWidth));
    case 'approximate':
      return Math.max(FIRST_LOOK, computeNormalQuantile((1 + confidence) / 2) ** 2 * Math.max(bySpread, range / halfWidth / 2));
    case 'asymptotic':
      return computeAsymptoticEpisodes(stop, Math.sqrt(variance));
  }
}

/** Computes the number of episodes at which the sequence becomes as narrow as requested for this deviation, to within a thousandth. */
function computeAsymptoticEpisodes(stop: Extract<Stop, { rule: 'asymptotic' }>, deviation: number): number {
  const sequence = new AsymptoticSequence(stop);
  const isWide = (episodes: number): boolean => deviation * sequence.computeRelativeHalfWidth(episodes) > stop.halfWidth;
  let step = FEWEST_VALUES;
  while (isWide(2 * step)) step *= 2;
  let episodes = step;
  for (; step > episodes / 1000; step /= 2) if (isWide(episodes + step)) episodes += step;
  return episodes;
}
