import { scaleFromUnit, toUnit, type Bounds } from './bounds.ts';
import { computeBetaQuantile, computeNormalQuantile, computeStudentQuantile } from './distribution-quantiles.ts';
import type { Moments } from './moments.ts';

export const INTERVAL_METHODS = [
  'student-t',
  'adjusted',
  'clopper-pearson',
  'certified',
  'approximate',
  'asymptotic-sequence',
  'stratified-bootstrap',
  'bca',
  'clustered-t',
] as const;
export type IntervalMethod = (typeof INTERVAL_METHODS)[number];

/** A confidence interval for the mean return, in units of the return. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  /** Nominal probability that the interval holds the true mean. */
  readonly confidence: number;
  readonly method: IntervalMethod;
  /** Says in one line of plain English what `confidence` promises. */
  readonly guarantee: string;
}

export function computeHalfWidth(interval: Interval): number {
  return (interval.high - interval.low) / 2;
}

const GUARANTEES: Readonly<Record<IntervalMethod, string>> = {
  'student-t': 'asymptotic: approaches the stated confidence as episodes grow, for a number of episodes that was fixed in advance',
  adjusted: 'close to the stated confidence for bounded returns, for a number of episodes that was fixed in advance',
  'clopper-pearson': 'at least the stated confidence for two-valued returns, for a number of episodes that was fixed in advance',
  certified: 'at least the stated confidence for bounded returns, and it holds at every stopping time',
  approximate:
    'near the stated confidence for bounded returns by simulation, not by proof: the number of episodes depended on the returns, looked at now and then',
  'asymptotic-sequence':
    'approaches the stated confidence as episodes grow, at every stopping time from 64 episodes on; without bounds on the return, losses too rare to have happened yet are not allowed for',
  'stratified-bootstrap':
    'approaches the stated confidence as the episodes of every task grow, for a number of episodes that was fixed in advance',
  bca: 'approaches the stated confidence as episodes grow, for a number that was fixed in advance; below it for few episodes',
  'clustered-t': 'approaches the stated confidence as the number of tasks grows, for tasks drawn from a population of tasks',
};

export function createInterval(method: IntervalMethod, low: number, high: number, confidence: number): Interval {
  return { low, high, confidence, method, guarantee: GUARANTEES[method] };
}

/** Computes x̄ ± t₍n−1₎·s/√n. Returns undefined for fewer than two values, or when their spread is beyond floating point. */
export function computeStudentInterval(moments: Moments, confidence: number): Interval | undefined {
  const { mean, standardError } = moments;
  if (mean === undefined || standardError === undefined) return undefined;
  const halfWidth = computeStudentQuantile(computeUpperTail(confidence), moments.count - 1) * standardError;
  const low = mean - halfWidth;
  const high = mean + halfWidth;
  return Number.isFinite(low) && Number.isFinite(high) ? createInterval('student-t', low, high, confidence) : undefined;
}

/** Moments of values, present or expected. */
export type FirstTwoMoments = Pick<Moments, 'count' | 'mean' | 'sumOfSquares'>;

/** The moments are on the unit scale. */
export interface AdjustedMoments {
  /** n + z² */
  readonly count: number;
  readonly mean: number;
  /** Σ(xᵢ − mean)² */
  readonly sumOfSquares: number;
}

/**
 * Computes the moments of bounded values after z²/2 pseudo-values are added on each bound, as in the interval of Agresti and Coull (1998) for a
 * proportion: values that have not occurred yet could be anywhere. Returns undefined without a value.
 */
export function adjustMoments(values: FirstTwoMoments, bounds: Bounds, confidence: number): AdjustedMoments | undefined {
  const { count, mean, sumOfSquares } = values;
  if (mean === undefined) return undefined;
  const range = bounds.high - bounds.low;
  const unitMean = toUnit(mean, bounds);
  const pseudo = computeNormalQuantile(computeUpperTail(confidence)) ** 2 / 2;
  const total = count + 2 * pseudo;
  const centre = (count * unitMean + pseudo) / total;
  const squares = sumOfSquares / range / range + count * (unitMean - centre) ** 2 + pseudo * centre ** 2 + pseudo * (1 - centre) ** 2;
  return { count: total, mean: centre, sumOfSquares: squares };
}

/** Computes a t-interval of bounded returns from adjusted moments, so that its width is never zero. Returns undefined for fewer than two values. */
export function computeAdjustedInterval(moments: Moments, bounds: Bounds, confidence: number): Interval | undefined {
  const adjusted = adjustMoments(moments, bounds, confidence);
  if (adjusted === undefined || moments.count < 2) return undefined;
  const { count, mean, sumOfSquares } = adjusted;
  const halfWidth = (computeStudentQuantile(computeUpperTail(confidence), moments.count - 1) * Math.sqrt(sumOfSquares)) / count;
  return createInterval('adjusted', scaleFromUnit(mean - halfWidth, bounds), scaleFromUnit(mean + halfWidth, bounds), confidence);
}

export interface Proportion {
  readonly successes: number;
  /** The number of trials, at least 1. */
  readonly trials: number;
}

const UNIT: Bounds = { low: 0, high: 1 };

/**
 * Computes the exact interval of Clopper and Pearson (1934), for returns that are all exactly on one of the two bounds; a success is the upper one.
 * Its coverage is never below its confidence, which makes it wider.
 */
export function computeClopperPearsonInterval({ successes, trials }: Proportion, confidence: number, bounds: Bounds = UNIT): Interval {
  const upper = computeUpperTail(confidence);
  const low = successes === 0 ? 0 : computeBetaQuantile(1 - upper, successes, trials - successes + 1);
  const high = successes === trials ? 1 : computeBetaQuantile(upper, successes + 1, trials - successes);
  return createInterval('clopper-pearson', scaleFromUnit(low, bounds), scaleFromUnit(high, bounds), confidence);
}

/** Returns the probability below the upper end of a two-sided interval. */
function computeUpperTail(confidence: number): number {
  return (1 + confidence) / 2;
}
