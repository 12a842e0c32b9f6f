/**
 * The distance at which bets grow fastest, as a share of the margin. With the whole margin, means within half a margin of either end could not be
 * distinguished from that end.
 */
const SHARE_OF_MARGIN = 2 / 3;
/** No bet risks more than this share of its capital, which also is the largest bet when the mean is about 0. */
const BET_CAP = 0.5;
/** Grid steps in one half-width; the two tested means are on the grid. */
const GRID_FINENESS = 40;

/**
 * Evidence that the mean of differences in [−1, 1] is strictly within ±δ: bets that it is above a mean next to −δ, and below one next to δ. Each
 * succeeds wrongly with probability at most α/(2C) (after Waudby-Smith and Ramdas 2024).
 *
 * The bets are λ = h/σ̂² with σ̂² from the earlier resolved differences. They exclude a mean at distance g at the rate (h·g − h²/2)/σ² a value:
 * fastest for a given g when h is g, never when g ≤ h/2. So h = ⅔δ excludes ±δ for any mean difference within ⅔δ, and takes an eighth more pairs than
 * the fastest bet when the mean difference is 0.
 */
export class EquivalenceEvidence {
  readonly #margin: number;
  readonly #needed: number;
  readonly #low: number;
  readonly #high: number;
  /** Logarithms of the two capitals. */
  #above = 0;
  #below = 0;
  #isAbove = false;
  #isBelow = false;
  #resolved = 0;
  #sum = 0;
  #squares = 0;

  /** @param margin δ as a share of the range, in (0, 1). @param needed log(2C/α) */
  constructor(margin: number, needed: number) {
    this.#margin = margin;
    this.#needed = needed;
    [this.#low, this.#high] = findNextWithin(margin);
  }

  /** Adds the next difference: its lowest and highest possible value, equal when it is known. */
  fold(low: number, high: number): void {
    const bet = this.#halfWidth / this.#computeVariance();
    this.#above += Math.log1p(Math.min(bet, BET_CAP / (1 + this.#low)) * (low - this.#low));
    this.#below += Math.log1p(Math.min(bet, BET_CAP / (1 - this.#high)) * (this.#high - high));
    this.#isAbove ||= this.#above >= this.#needed;
    this.#isBelow ||= this.#below >= this.#needed;
    if (low === high) this.#learn(low);
  }

  /** The mean is known to be above it; −1 while nothing is known. */
  get low(): number {
    return this.#isAbove ? this.#low : -1;
  }

  /** The mean is known to be below it; 1 while nothing is known. */
  get high(): number {
    return this.#isBelow ? this.#high : 1;
  }

  get isWithinMargin(): boolean {
    return this.#isAbove && this.#isBelow;
  }

  /** Estimates the values in total until it is within the margin, if all have this mean and variance; Infinity when that cannot be expected. */
  estimateRemaining(mean: number, variance: number): number {
    const bet = Math.min(this.#halfWidth / variance, BET_CAP);
    const growth = bet * (this.#margin - Math.abs(mean)) - (bet * bet * variance) / 2;
    return growth > 0 ? this.#needed / growth : Infinity;
  }

  get #halfWidth(): number {
    return SHARE_OF_MARGIN * this.#margin;
  }

  /** Computes σ̂², with one pseudo-value of 1. */
  #computeVariance(): number {
    return (1 + this.#squares) / (this.#resolved + 1);
  }

  /** μ̂ has one pseudo-value of 0. */
  #learn(value: number): void {
    this.#resolved += 1;
    this.#sum += value;
    const deviation = value - this.#sum / (this.#resolved + 1);
    this.#squares += deviation * deviation;
  }
}

/** Finds the two points of an even grid next to ±margin and inside it, so that an interval of means within the margin excludes its ends. */
function findNextWithin(margin: number): [low: number, high: number] {
  const steps = Math.ceil(GRID_FINENESS / (SHARE_OF_MARGIN * margin));
  const mean = (step: number): number => step / steps - 1;
  let first = Math.floor((1 - margin) * steps) - 1;
  while (mean(first) <= -margin) first += 1;
  let last = Math.ceil((1 + margin) * steps) + 1;
  while (mean(last) >= margin) last -= 1;
  return [mean(first), mean(last)];
}
