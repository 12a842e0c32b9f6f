import { createSeededRandom } from '../../kernel/seeded-random.ts';
import { planResampling, computeShrunkenEnds, type Ends } from './bootstrap.ts';
import { findCells, countDraws, findDistinctValues } from './counted-resample.ts';
import { createInterval, type Interval } from '../intervals/intervals.ts';

export interface InterquartileMean {
  readonly value: number;
  readonly interval: Interval | undefined;
  /** Replicates of the bootstrap; 0 where there is no interval. */
  readonly replicates: number;
}

/**
 * Computes the mean of the middle half of all values pooled: the 25 % trimmed mean, which omits ⌊n/4⌋ values at each end. Its interval is the
 * percentile interval of a bootstrap that resamples within each task (Agarwal et al. 2021, "Deep reinforcement learning at the edge of the
 * statistical precipice"). Equal values of each task in any order give the same result.
 *
 * The interval is undefined where no task has two values to resample, and where all resamples agree; the whole is undefined without values, or where floating point cannot hold it.
 */
export function computeInterquartileMean(tasks: readonly ArrayLike<number>[], confidence: number): InterquartileMean | undefined {
  const sorted = poolTasks(tasks).sort();
  const values = findDistinctValues(sorted);
  const strata = tasks.map((task) => findCells(Float64Array.from(task).sort(), values));
  const counts = new Float64Array(values.length);
  for (const cells of strata) for (const cell of cells) counts[cell] = (counts[cell] ?? 0) + 1;
  const value = computeMiddleHalfMean(values, counts, sorted.length);
  if (!Number.isFinite(value)) return undefined;
  if (tasks.every((task) => task.length < 2)) return { value, interval: undefined, replicates: 0 };
  const { draws, share, replicates } = planResampling(strata.map((cells) => cells.length));
  const random = createSeededRandom('interquartile mean', 0);
  const resampled = Array.from({ length: replicates }, () => {
    counts.fill(0);
    // Each draw counts for as many values as it represents, so that rounding the draws of a task does not change its share.
    for (const [task, cells] of strata.entries()) {
      const drawn = draws[task] ?? 0;
      countDraws(random, cells, drawn, counts, cells.length / drawn);
    }
    return computeMiddleHalfMean(values, counts, sorted.length);
  });
  const ends = computeShrunkenEnds(resampled, confidence, value, share);
  return { value, interval: createResampledInterval(ends, confidence), replicates };
}

/** Returns undefined where the ends meet: resamples of a few equal values agree, and an interval of no width would promise certainty. */
export function createResampledInterval(ends: Ends | undefined, confidence: number): Interval | undefined {
  return ends && ends.low < ends.high ? createInterval('stratified-bootstrap', ends.low, ends.high, confidence) : undefined;
}

export function poolTasks(tasks: readonly ArrayLike<number>[]): Float64Array {
  const all = new Float64Array(tasks.reduce((sum, task) => sum + task.length, 0));
  let filled = 0;
  for (const task of tasks) {
    all.set(task, filled);
    filled += task.length;
  }
  return all;
}

/** Computes the mean of the middle half of `size` values, given by the count of each of the ascending `values`. NaN when there are none. */
function computeMiddleHalfMean(values: Float64Array, counts: Float64Array, size: number): number {
  const cut = Math.floor(size / 4);
  return computeMiddleMean(values, counts, cut, size - cut);
}

/**
 * Computes the mean of the values between the cumulative counts `cut` and `end`.
 *
 * @param counts count or probability of each of the ascending `values`. NaN when there are none.
 */
export function computeMiddleMean(values: Float64Array, counts: Uint32Array | Float64Array, cut: number, end: number): number {
  let [cell, seen] = [0, counts[0] ?? 0];
  while (seen <= cut && cell < values.length) {
    cell += 1;
    seen += counts[cell] ?? 0;
  }
  // Summed as distances from the lowest counted value, so that an offset that is large beside the spread costs no precision.
  const lowest = values[cell] ?? Number.NaN;
  let sum = 0;
  while (seen < end && cell < values.length) {
    cell += 1;
    const count = counts[cell] ?? 0;
    seen += count;
    sum += count * ((values[cell] ?? 0) - lowest);
  }
  sum -= (seen - end) * ((values[cell] ?? 0) - lowest);
  return lowest + sum / (end - cut);
}
