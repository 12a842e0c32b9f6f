import { toUnit, type Bounds } from '../intervals/bounds.ts';
import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import { computeAdjustedInterval, computeHalfWidth, createInterval, type Interval } from '../intervals/intervals.ts';
import { Sample } from './sample.ts';
import type { Score, StoppingRule } from './stopping-rule.ts';

/** Looking earlier or more often reduces coverage; looking less often costs episodes. */
export const FIRST_LOOK = 64;
const LOOK_GROWTH = 1.25;
/** Estimates end here, so that they are whole numbers. */
const FURTHEST_LOOK = 2 ** 52;

export function lookAfter(look: number): number {
  return Math.ceil(LOOK_GROWTH * look);
}

/**
 * Looks at 64, 80, 100, 125, … episodes, and stops at the first look at which the adjusted interval is as narrow as requested. Needs bounds on the
 * return.
 *
 * An interval for a fixed number of episodes promises less at a number that the returns chose. The pseudo-episodes on the bounds and the rare looks
 * keep the loss small, which simulations show and nothing proves.
 */
export class ApproximateRule implements StoppingRule {
  readonly targetHalfWidth: number;
  /** The interval is about as narrow as one for a number of episodes fixed in advance. */
  readonly priceOfSpread = 1;
  readonly confidence: number;
  readonly #bounds: Bounds;
  readonly #sample: Sample;
  /** Squared deviate, which is also the number of pseudo-episodes on both bounds together. */
  readonly #pseudo: number;
  #nextLook = FIRST_LOOK;
  #satisfied = false;

  /** @param halfWidth in units of the return; less than half of the range. @throws RangeError when it is not. */
  constructor(halfWidth: number, confidence: number, bounds: Bounds) {
    if (!(halfWidth > 0 && halfWidth < (bounds.high - bounds.low) / 2))
      throw new RangeError(`expected a half-width between 0 and half of the range, got ${halfWidth}`);
    this.targetHalfWidth = halfWidth;
    this.confidence = confidence;
    this.#bounds = bounds;
    this.#pseudo = computeNormalQuantile((1 + confidence) / 2) ** 2;
    this.#sample = new Sample(bounds, (moments) => {
      const adjusted = computeAdjustedInterval(moments, bounds, confidence);
      return adjusted && createInterval('approximate', adjusted.low, adjusted.high, confidence);
    });
  }

  fold(score: Score): void {
    this.#sample.add(score);
    this.#satisfied = this.#sample.episodes === this.#nextLook && this.#look();
  }

  /** Is true only at a look. */
  isSatisfied(): boolean {
    return this.#satisfied;
  }

  /** Returns an interval at any time; its confidence is that of the looks. */
  computeInterval(): Interval | undefined {
    return this.#sample.computeInterval(this.confidence);
  }

  deferInterval(): () => Interval | undefined {
    return this.#sample.deferInterval(this.confidence);
  }

  /** Counts up to the first look at which the interval is narrow enough if the returns continue as before. */
  estimateRemaining(): number {
    if (this.#satisfied) return 0;
    let look = this.#nextLook;
    while (look < FURTHEST_LOOK && this.#forecastHalfWidth(look) > this.targetHalfWidth) look = lookAfter(look);
    return look - this.#sample.episodes;
  }

  listWarnings(): readonly string[] {
    return [];
  }

  #look(): boolean {
    this.#nextLook = lookAfter(this.#nextLook);
    const interval = this.computeInterval();
    return interval !== undefined && computeHalfWidth(interval) <= this.targetHalfWidth;
  }

  /**
   * Forecasts the half-width of the adjusted interval, with the mean and the variance so far and the normal deviate; an unknown variance counts as ¼.
   */
  #forecastHalfWidth(episodes: number): number {
    const range = this.#bounds.high - this.#bounds.low;
    const { moments, unresolved } = this.#sample;
    const variance = moments.count < 2 ? 0.25 : moments.sumOfSquares / range / range / (moments.count - 1);
    const offCentre = moments.mean === undefined ? 0 : toUnit(moments.mean, this.#bounds) - 0.5;
    const total = episodes + this.#pseudo;
    // Pseudo-episodes have a spread of their own, and one between their mean and that of the returns.
    const squares = variance * (episodes - 1) + this.#pseudo / 4 + ((this.#pseudo * episodes) / total) * offCentre ** 2;
    return range * (Math.sqrt(this.#pseudo * squares) / total + unresolved / 2 / episodes);
  }
}
