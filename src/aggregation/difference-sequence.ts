import { ConfidenceSequence } from './certified.ts';

/** Of the margin. With the whole of it, nothing within half of the margin of either end could be told from that end. */
const SHARE_OF_MARGIN = 2 / 3;
/** As a share of the range, where there is no margin: best after some 1,600 pairs of which a fifth differ by all of the range. */
const HALF_WIDTH_WITHOUT_MARGIN = 0.03;
/** No bet risks more than half of its capital, which limits it to this on the scale of differences when the mean is about 0. */
const LARGEST_BET = 0.5;
/** Grid steps to the target half-width, on the unit scale. */
const GRID_FINENESS = 40;

/**
 * Confidence sequence for the mean of differences in [−1, 1]: the target-aware betting sequence on (D + 1)/2. Its ends are at ±1 while
 * nothing is known.
 *
 * With the target half-width h its bets rule out a mean at distance g at the rate (h·g − h²/2)/σ² a value: fastest for a given g when h is
 * g, never when g ≤ h/2. So h = ⅔δ rules ±δ out for any mean difference within ⅔δ, and takes an eighth more pairs than the
 * fastest when the mean difference is 0. The grid is the coarsest that the sequence permits, 40 steps to h, made even: so that a difference of
 * exactly 0, which the same policy twice has in every pair, is among the means that are tested.
 */
export class DifferenceSequence {
  readonly #halfWidth: number;
  readonly #margin: number;
  readonly #sequence: ConfidenceSequence;

  /** @param margin as a share of the range, 0 for none. */
  constructor(margin: number, confidence: number) {
    this.#margin = margin;
    this.#halfWidth = margin > 0 ? SHARE_OF_MARGIN * margin : HALF_WIDTH_WITHOUT_MARGIN;
    const halfWidth = this.#halfWidth / 2;
    this.#sequence = new ConfidenceSequence({ halfWidth, confidence, grid: 2 * Math.ceil(GRID_FINENESS / halfWidth / 2) });
  }

  /** Takes the next difference in: its lowest and highest possible value, equal when it is known. */
  fold(low: number, high: number): void {
    this.#sequence.fold((low + 1) / 2, (high + 1) / 2);
  }

  get low(): number {
    return 2 * this.#sequence.low - 1;
  }

  get high(): number {
    return 2 * this.#sequence.high - 1;
  }

  /** Whether the mean lies between −margin and margin, ends excluded; never true without a margin. */
  get isWithinMargin(): boolean {
    return this.low > -this.#margin && this.high < this.#margin;
  }

  /** Whether the differences speak against every mean at once, as they do soon when their mean drifts. */
  get contradicted(): boolean {
    return this.#sequence.contradicted;
  }

  /** Values in all until it likely lies within the margin, if all have this mean and variance; Infinity when it is not to be expected. */
  expectedWithinMargin(limit: number, mean: number, variance: number): number {
    const bet = Math.min(this.#halfWidth / variance, LARGEST_BET);
    const growth = bet * (this.#margin - Math.abs(mean)) - (bet * bet * variance) / 2;
    return growth > 0 ? limit / growth : Infinity;
  }
}
