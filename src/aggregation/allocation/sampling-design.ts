import type { Bounds } from '../intervals/bounds.ts';
import { BET_CAP } from '../stopping/bet-capital.ts';
import type { EstimatedTask } from './task-estimates.ts';

/** How an episode draws its task, and the expected return of each task: decided before the episode is played. */
export interface SamplingDesign {
  readonly tasks: readonly DesignedTask[];
  /** Cumulative sums of the probabilities. */
  readonly upTo: readonly number[];
  /** Σ wₖ·centreₖ */
  readonly centre: number;
  /** Lowest and highest possible allocated score; includes the bounds of the return. It is undefined without such bounds. */
  readonly range: Bounds | undefined;
}

export interface DesignedTask {
  /** Probability that the episode draws this task, positive; all of them sum to 1. */
  readonly probability: number;
  /** Weight over probability: the factor of this task's returns. */
  readonly factor: number;
  /** The expected return of the task. A wrong value costs precision, not validity. */
  readonly centre: number;
}

/** Shares of the weights in the candidate probabilities, so that no return counts more than 8-fold … */
const MIXTURES = [1, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125];
/** … or 4-fold where the price of a wide range is unknown. */
const LEAST_MIXTURE_BY_VARIANCE = 0.25;
/** A design is preferred to drawing by weight when it is expected to save this share of the episodes. */
const WORTHWHILE = 0.01;

/** Draws every task in proportion to its weight; the allocated score is the return itself. @param weights summing to 1. */
export function designProportionally(weights: readonly number[], bounds: Bounds | undefined): SamplingDesign {
  const tasks = weights.map((weight) => ({ probability: weight, factor: 1, centre: 0 }));
  return createDesign(tasks, 0, bounds);
}

/**
 * Chooses the design that likely needs the fewest episodes. Candidates mix the weights with Neyman's allocation pₖ ∝ wₖ·σₖ (1934), which has the
 * least variance. A small probability causes a wide range of allocated scores, and so small bets of `certified`: the smaller the half-width, the
 * larger the useful part of Neyman's allocation.
 *
 * @param halfWidth of `certified`, in units of the return; undefined with other rules, for which the variance alone decides.
 */
export function chooseDesign(
  estimates: readonly EstimatedTask[],
  proportional: SamplingDesign,
  bounds: Bounds | undefined,
  halfWidth: number | undefined,
): SamplingDesign {
  const centre = estimates.reduce((sum, { weight, mean }) => sum + weight * mean, 0);
  const computeEffort = (variance: number, range: Bounds | undefined): number =>
    range === undefined || halfWidth === undefined ? variance : estimateBettingEffort(variance, range, centre, halfWidth);
  const within = estimates.reduce((sum, { weight, variance, mean }) => sum + weight * (variance + (mean - centre) ** 2), 0);
  let best = proportional;
  let least = (1 - WORTHWHILE) * computeEffort(within, proportional.range);
  for (const mixture of MIXTURES) {
    if (mixture < LEAST_MIXTURE_BY_VARIANCE && (bounds === undefined || halfWidth === undefined)) continue;
    const design = mixDesign(estimates, centre, mixture, bounds);
    const variance = estimates.reduce((sum, task, k) => sum + task.weight * (design.tasks[k]?.factor ?? 1) * task.variance, 0);
    const needed = computeEffort(variance, design.range);
    if (!(needed < least)) continue;
    least = needed;
    best = design;
  }
  return best;
}

/** Returns the position of the task that a number in [0, 1) draws; the last one when rounding left the sum short of 1. */
export function drawTask({ upTo }: Pick<SamplingDesign, 'upTo'>, draw: number): number {
  let low = 0;
  let high = upTo.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((upTo[middle] ?? 1) > draw) high = middle;
    else low = middle + 1;
  }
  return low;
}

function mixDesign(estimates: readonly EstimatedTask[], centre: number, mixture: number, bounds: Bounds | undefined): SamplingDesign {
  const spread = estimates.reduce((sum, { weight, variance }) => sum + weight * Math.sqrt(variance), 0);
  const tasks = estimates.map(({ weight, variance, mean }) => {
    const relative = spread > 0 ? Math.sqrt(variance) / spread : 1;
    const probability = weight * (mixture + (1 - mixture) * relative);
    return { probability, factor: weight / probability, centre: mean };
  });
  return createDesign(tasks, centre, bounds);
}

function createDesign(tasks: readonly DesignedTask[], centre: number, bounds: Bounds | undefined): SamplingDesign {
  let sum = 0;
  const upTo = tasks.map(({ probability }) => (sum += probability));
  if (bounds === undefined) return { tasks, upTo, centre, range: undefined };
  let { low, high } = bounds;
  for (const task of tasks) {
    low = Math.min(low, centre + task.factor * (bounds.low - task.centre));
    high = Math.max(high, centre + task.factor * (bounds.high - task.centre));
  }
  return { tasks, upTo, centre, range: { low, high } };
}

/**
 * Estimates the episodes that the betting confidence sequence likely needs, up to a constant factor. An episode raises the logarithm of the capital,
 * against a mean at distance h, by λh − λ²V/2 with λ = min(h/V, cap); the result is the inverse, from below and from above.
 */
function estimateBettingEffort(variance: number, range: Bounds, mean: number, halfWidth: number): number {
  const inverseGrowth = (atStake: number): number => {
    const bet = Math.min(halfWidth / variance, BET_CAP / Math.max(0, atStake));
    return 1 / (bet * halfWidth - (bet * bet * variance) / 2);
  };
  return inverseGrowth(mean - halfWidth - range.low) + inverseGrowth(range.high - mean - halfWidth);
}
