import { scaleFromUnit, type Bounds } from '../intervals/bounds.ts';
import { adjustMoments, createInterval, type FirstTwoMoments, type Interval } from '../intervals/intervals.ts';
/** The interval is based on the central limit theorem, which says too little about fewer values. */
export const FEWEST_VALUES = 64;

export interface AsymptoticSequenceOptions {
  /** It is between 0.5 and 1. */
  readonly confidence: number;
  /** Number of values at which the interval is tightest compared with one for a number fixed in advance; a whole number from 64 on. */
  readonly tightestAt: number;
}

/**
 * Asymptotic confidence sequence for the mean of values with a finite variance (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, "Time-uniform
 * central limit theory and asymptotic confidence sequences"): x̄ ± s·w(n), for all n at once.
 *
 *      w(n) = √( 2(nρ² + 1)·ln(√(nρ² + 1)/α) / (n²ρ²) )      ρ² = (−α² − 2 ln α + ln(1 − 2 ln α − α²)) / tightestAt
 *
 * w is the boundary that a Brownian motion never crosses with probability 1 − α. With growing number the values behave like one, so the confidence is
 * approached, not guaranteed.
 *
 * No bounds are needed. But then a rare value far from all others counts for nothing until it occurs, and no interval can do better (Bahadur and
 * Savage 1956). With bounds, mean and deviation are adjusted by z²/2 pseudo-values on each bound, which represent such values and make no difference
 * in the limit.
 */
export class AsymptoticSequence {
  readonly #confidence: number;
  readonly #alpha: number;
  readonly rhoSquared: number;

  /** @throws RangeError when an option is out of its range. */
  constructor({ confidence, tightestAt }: AsymptoticSequenceOptions) {
    if (!(confidence > 0.5 && confidence < 1)) throw new RangeError(`expected a confidence above 0.5 and below 1, got ${confidence}`);
    if (!Number.isSafeInteger(tightestAt) || tightestAt < FEWEST_VALUES)
      throw new RangeError(`expected tightestAt to be a whole number from ${FEWEST_VALUES} on, got ${tightestAt}`);
    const alpha = 1 - confidence;
    this.#confidence = confidence;
    this.#alpha = alpha;
    const twiceLog = 2 * Math.log(alpha);
    this.rhoSquared = (-alpha * alpha - twiceLog + Math.log(1 - twiceLog - alpha * alpha)) / tightestAt;
  }

  /** Computes w(n), the half-width in units of the standard deviation. Falls with n. */
  computeRelativeHalfWidth(count: number): number {
    const growth = count * this.rhoSquared + 1;
    return Math.sqrt((2 * growth * Math.log(Math.sqrt(growth) / this.#alpha)) / this.rhoSquared) / count;
  }

  /** Returns undefined for fewer than 64 values, or when without bounds their spread is beyond floating point. Never exceeds the bounds. */
  computeInterval(values: FirstTwoMoments, bounds?: Bounds): Interval | undefined {
    if (values.count < FEWEST_VALUES) return undefined;
    return bounds === undefined ? this.#computeUnbounded(values) : this.#computeBounded(values, bounds);
  }

  #computeUnbounded({ count, mean, sumOfSquares }: FirstTwoMoments): Interval | undefined {
    if (mean === undefined) return undefined;
    const halfWidth = Math.sqrt(sumOfSquares / (count - 1)) * this.computeRelativeHalfWidth(count);
    const low = mean - halfWidth;
    const high = mean + halfWidth;
    return Number.isFinite(low) && Number.isFinite(high) ? createInterval('asymptotic-sequence', low, high, this.#confidence) : undefined;
  }

  #computeBounded(values: FirstTwoMoments, bounds: Bounds): Interval | undefined {
    const adjusted = adjustMoments(values, bounds, this.#confidence);
    if (adjusted === undefined) return undefined;
    const { count, mean, sumOfSquares } = adjusted;
    const halfWidth = Math.sqrt(sumOfSquares / count) * this.computeRelativeHalfWidth(values.count);
    const low = scaleFromUnit(mean - halfWidth, bounds);
    const high = scaleFromUnit(mean + halfWidth, bounds);
    return createInterval('asymptotic-sequence', low, high, this.#confidence);
  }
}
