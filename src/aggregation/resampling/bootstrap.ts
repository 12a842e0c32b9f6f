import { quantileSorted } from 'simple-statistics';
import { drawIndex, type Random } from '../../kernel/seeded-random.ts';
/** This number makes the ends of a 95 % interval exact to some 8 % of a standard error. */
const MOST_REPLICATES = 1000;
/** The bound over all replicates of one interval. It limits the time to some 25 milliseconds, in which nothing else happens. */
const MOST_DRAWS = 2_000_000;
/**
 * Larger samples are resampled with this many values, so that there can be enough replicates: the m-out-of-n bootstrap (Bickel, Götze and van Zwet
 * 1997), whose spread is √(n/m) times as wide.
 */
export const LARGEST_RESAMPLE = 2000;

/** Returns the number of replicates when each takes this many draws. */
export function countReplicates(draws: number, mostDraws = MOST_DRAWS): number {
  return Math.min(MOST_REPLICATES, Math.max(1, Math.floor(mostDraws / draws)));
}

/** How a bootstrap resamples values that come in strata. */
export interface ResamplingPlan {
  /** The number of draws from each stratum, in the order given. */
  readonly draws: readonly number[];
  /** m/n, all draws of a resample over all values. */
  readonly share: number;
  readonly replicates: number;
}

/** @param strata number of values in each: at least 1. */
export function planResampling(strata: readonly number[]): ResamplingPlan {
  const values = strata.reduce((sum, size) => sum + size, 0);
  const aimed = Math.min(1, LARGEST_RESAMPLE / values);
  const draws = strata.map((size) => Math.max(1, Math.round(size * aimed)));
  const drawn = draws.reduce((sum, size) => sum + size, 0);
  return { draws, share: drawn / values, replicates: countReplicates(drawn) };
}

export interface Ends {
  readonly low: number;
  readonly high: number;
}

/**
 * Computes the ends that cut off equal shares of the replicates (Efron 1979), interpolated linearly. Returns undefined when one of them is not
 * finite.
 */
export function computePercentileEnds(replicates: readonly number[], confidence: number): Ends | undefined {
  const tail = (1 - confidence) / 2;
  return getEndsAt(sortAscending(replicates), tail, 1 - tail);
}

/** Computes the percentile ends of an m-out-of-n bootstrap: those of its replicates, shrunk towards the estimate by √(m/n). */
export function computeShrunkenEnds(replicates: readonly number[], confidence: number, estimate: number, share: number): Ends | undefined {
  const ends = computePercentileEnds(replicates, confidence);
  if (ends === undefined || share === 1) return ends;
  const shrink = (end: number): number => estimate + (end - estimate) * Math.sqrt(share);
  return { low: shrink(ends.low), high: shrink(ends.high) };
}

export function sortAscending(values: readonly number[]): readonly number[] {
  return Array.from(Float64Array.from(values).sort());
}

/** Returns the values at the shares `low` and `high` of ascending values. */
export function getEndsAt(sorted: readonly number[], low: number, high: number): Ends | undefined {
  const ends = { low: quantileSorted(sorted, low), high: quantileSorted(sorted, high) };
  return Number.isFinite(ends.low) && Number.isFinite(ends.high) ? ends : undefined;
}

/** Computes the means of resamples with as many values as there are, drawn with replacement. */
export function resampleMeans(random: Random, values: Float64Array, replicates: number): number[] {
  return Array.from({ length: replicates }, () => {
    let sum = 0;
    for (let drawn = 0; drawn < values.length; drawn += 1) sum += values[drawIndex(random, values.length)] ?? 0;
    return sum / values.length;
  });
}
