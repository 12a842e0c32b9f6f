import { createSeededRandom } from '../../kernel/seeded-random.ts';
import { sortAscending, getEndsAt, LARGEST_RESAMPLE, countReplicates, resampleMeans, type Ends } from './bootstrap.ts';
import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import { createInterval, type Interval } from '../intervals/intervals.ts';
import { Moments } from '../intervals/moments.ts';
import { computeNormalProbability } from '../intervals/normal-probability.ts';

/** With more values its correction, which falls with 1/√n, is smaller than the replicates can show. */
export const MOST_BCA_VALUES = LARGEST_RESAMPLE;

/** A share of the range of the replicates. Replicates that are closer count as equal. */
const ROUNDING = 1e-9;

/**
 * Computes the bootstrap interval of the mean, corrected for bias and for a spread that changes with the mean (Efron 1987, "Better bootstrap
 * confidence intervals"). Equal values in any order give the same interval.
 *
 * Returns undefined for fewer than two values or more than `MOST_BCA_VALUES`, and where all values are equal or floating point cannot hold it.
 *
 * @param values ascending.
 */
export function computeBcaInterval(values: readonly number[], confidence: number): Interval | undefined {
  if (values.length < 2 || values.length > MOST_BCA_VALUES) return undefined;
  const moments = new Moments();
  for (const value of values) moments.add(value);
  const mean = moments.mean ?? Number.NaN;
  const deviations = Float64Array.from(values, (value) => value - mean);
  const replicates = resampleMeans(createSeededRandom('bca of the mean', 0), deviations, countReplicates(values.length));
  const ends = computeBcaEnds(0, computeAcceleration(deviations), replicates, confidence);
  if (ends === undefined) return undefined;
  const [low, high] = [mean + ends.low, mean + ends.high];
  return Number.isFinite(low) && Number.isFinite(high) ? createInterval('bca', low, high, confidence) : undefined;
}

/** Computes Σdᵢ³ / (6·(Σdᵢ²)^1.5) for the deviations d from the mean: the acceleration that the jackknife gives for a mean. */
export function computeAcceleration(deviations: ArrayLike<number>): number {
  let [squares, cubes] = [0, 0];
  for (let position = 0; position < deviations.length; position += 1) {
    const deviation = deviations[position] ?? 0;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  return cubes / (6 * squares ** 1.5);
}

/** Computes the replicates at the corrected shares. Returns undefined when the estimate is outside of all replicates, or the acceleration is NaN. */
export function computeBcaEnds(
  estimate: number,
  acceleration: number,
  replicates: readonly number[],
  confidence: number,
): Ends | undefined {
  const sorted = sortAscending(replicates);
  const share = computeShareBelow(estimate, sorted);
  if (!(share > 0 && share < 1)) return undefined;
  const bias = computeNormalQuantile(share);
  const correct = (deviate: number): number => {
    const shifted = bias + deviate;
    return acceleration * shifted < 1 ? computeNormalProbability(bias + shifted / (1 - acceleration * shifted)) : Number.NaN;
  };
  const deviate = computeNormalQuantile((1 + confidence) / 2);
  const [low, high] = [correct(-deviate), correct(deviate)];
  return Number.isNaN(low) || Number.isNaN(high) ? undefined : getEndsAt(sorted, low, high);
}

/** Counts equal values half. With few distinct returns there are many of them, so rounding must not decide their side. */
function computeShareBelow(estimate: number, sorted: readonly number[]): number {
  const rounding = ROUNDING * ((sorted.at(-1) ?? Number.NaN) - (sorted[0] ?? Number.NaN));
  let below = 0;
  for (const replicate of sorted) below += replicate < estimate - rounding ? 1 : replicate <= estimate + rounding ? 0.5 : 0;
  return below / sorted.length;
}
