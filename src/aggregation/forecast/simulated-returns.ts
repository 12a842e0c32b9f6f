import { drawIndex, type Random } from '../../kernel/seeded-random.ts';
import { Moments } from '../intervals/moments.ts';

/** Returns that a simulation draws in place of playing episodes, in units of the return. */
export interface SimulatedReturns {
  readonly mean: number;
  /** The variance of a draw; finite, not negative. */
  readonly variance: number;
  /** The number of recorded returns on which the distribution is based. It is undefined when the distribution is assumed, not observed. */
  readonly observed: number | undefined;
  draw(random: Random): number;
}

/** With this many recorded returns, their uncertainty is small beside the randomness of one evaluation. */
const LARGEST_WORLD = 10_000;

/**
 * Chooses the returns that one simulated evaluation draws from. Recorded returns are a sample: each evaluation resamples them first (the bootstrap,
 * Efron 1979), so that the spread over evaluations includes the randomness of the record. Assumed returns are drawn as they are.
 */
export function drawReturnsOfOneRun(returns: SimulatedReturns, random: Random): () => number {
  if (returns.observed === undefined) return () => returns.draw(random);
  const world = Float64Array.from({ length: Math.min(returns.observed, LARGEST_WORLD) }, () => returns.draw(random));
  return () => world[drawIndex(random, world.length)] ?? 0;
}

/** Creates two returns, the higher one with a probability of `shareHigh`. Equal ones make a constant. */
export function createTwoValuedReturns(low: number, high: number, shareHigh: number, observed?: number): SimulatedReturns {
  return {
    mean: low + shareHigh * (high - low),
    variance: shareHigh * (1 - shareHigh) * (high - low) ** 2,
    observed,
    draw: (random) => (random() < shareHigh ? high : low),
  };
}

export interface RecordedMoments {
  /** Number of values; at least two. */
  readonly count: number;
  readonly mean: number;
  /** The variance with divisor n − 1. */
  readonly variance: number;
  readonly min: number;
  readonly max: number;
}

/**
 * Creates two returns with the recorded mean and variance. One is the recorded extreme nearer to the mean, because returns accumulate there; the
 * other is then within the extremes as well (Bhatia and Davis 2000, "A better bound on the variance").
 */
export function matchReturns({ count, mean, variance, min, max }: RecordedMoments): SimulatedReturns {
  const spread = (variance * (count - 1)) / count;
  const [above, below] = [max - mean, mean - min];
  if (!(spread > 0 && above > 0 && below > 0)) return createTwoValuedReturns(mean, mean, 1, count);
  const [low, high] = above <= below ? [Math.max(min, mean - spread / above), max] : [min, Math.min(max, mean + spread / below)];
  return createTwoValuedReturns(low, high, (mean - low) / (high - low), count);
}

export interface RecordedTask {
  /** Positive; relative to the other tasks. */
  readonly weight: number;
  readonly scores: readonly number[];
}

/**
 * Draws recorded scores: a task by its weight, then one of its scores uniformly. The weights of tasks without a score are shared among the others.
 *
 * @throws RangeError when there is no score at all.
 */
export function resampleReturns(tasks: readonly RecordedTask[]): SimulatedReturns {
  const recorded = tasks.filter(({ scores }) => scores.length > 0);
  const drawTask = createWeightedDraw(recorded.map(({ weight }) => weight));
  return {
    ...mixMoments(recorded.map(({ weight, scores }) => ({ weight, ...computeMoments(scores) }))),
    observed: recorded.reduce((sum, { scores }) => sum + scores.length, 0),
    draw: (random) => {
      const scores = recorded[drawTask(random)]?.scores ?? [];
      return scores[drawIndex(random, scores.length)] ?? 0;
    },
  };
}

/**
 * Draws the middle of a bin, by its count, within the recorded extremes.
 *
 * @param edges ascending, one more than there are counts. @throws RangeError when every count is 0.
 */
export function createHistogramReturns(
  edges: readonly number[],
  counts: readonly number[],
  { min, max }: { readonly min: number; readonly max: number },
): SimulatedReturns {
  const values = counts.map((_, bin) => Math.min(max, Math.max(min, ((edges[bin] ?? 0) + (edges[bin + 1] ?? 0)) / 2)));
  const drawBin = createWeightedDraw(counts);
  return {
    ...mixMoments(counts.map((weight, bin) => ({ weight, mean: values[bin] ?? 0, variance: 0 }))),
    observed: counts.reduce((sum, count) => sum + count, 0),
    draw: (random) => values[drawBin(random)] ?? 0,
  };
}

interface Part {
  readonly weight: number;
  readonly mean: number;
  readonly variance: number;
}

/** Combines them part by part, so that equal parts give exactly their mean and no variance. */
function mixMoments(parts: readonly Part[]): { readonly mean: number; readonly variance: number } {
  let [total, mean, squares] = [0, 0, 0];
  for (const part of parts) {
    if (part.weight === 0) continue;
    total += part.weight;
    const deviation = part.mean - mean;
    mean += (part.weight / total) * deviation;
    squares += part.weight * (part.variance + deviation * (part.mean - mean));
  }
  return { mean, variance: squares / total };
}

/** Computes the moments of a draw. */
function computeMoments(values: readonly number[]): { readonly mean: number; readonly variance: number } {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return { mean: moments.mean ?? 0, variance: moments.sumOfSquares / values.length };
}

/** Draws positions in proportion to their weights. @throws RangeError when no weight is positive. */
function createWeightedDraw(weights: readonly number[]): (random: Random) => number {
  let total = 0;
  const upTo = weights.map((weight) => (total += weight));
  if (!(total > 0)) throw new RangeError('expected a weight above 0');
  return (random) => {
    const drawn = random() * total;
    let [low, high] = [0, upTo.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((upTo[middle] ?? total) > drawn) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
