/** λₖ = ½·0.6ᵏ for k = 0 … 7. The best bet on a mean m with variance σ² is about m/σ²: with σ² = 0.2 these suit means from 0.1 down to 0.003. */
const BETS = Float64Array.from({ length: 8 }, (_, k) => 0.5 * 0.6 ** k);
export const GAMBLERS = BETS.length;
/** Capitals are scaled anew after so many values: 32 factors between 10⁻⁹ and 2 stay within floating point. */
const RESCALE_PERIOD = 32;

/**
 * Evidence that the mean of values in [−2, 2] is above 0: the average capital of eight gamblers who each stake the fixed share λₖ of
 * what they have on every value, E = mean over k of Π(1 + λₖ·x) (after Waudby-Smith and Ramdas 2024).
 *
 * Were the mean 0 or less given the values before, no capital could be expected to grow, so E ever reaches a threshold T with probability
 * at most 1/T (Ville 1939). That holds at all times at once: E may be looked at after every value. Capitals are kept as multiples of
 * a common scale, because they leave the range of floating point after some thousand values. A gambler 10³⁰⁸ times poorer than the richest
 * has nothing from then on, which can only lower E.
 */
export class Evidence {
  /** In multiples of the scale. */
  readonly #capitals = new Float64Array(GAMBLERS).fill(1);
  #logScale = 0;
  #sinceRescale = 0;

  fold(value: number): void {
    const capitals = this.#capitals;
    for (let k = 0; k < GAMBLERS; k += 1) capitals[k] = (capitals[k] ?? 0) * (1 + (BETS[k] ?? 0) * value);
    this.#sinceRescale += 1;
    if (this.#sinceRescale === RESCALE_PERIOD) this.#rescale();
  }

  /** log E; 0 before the first value. */
  get log(): number {
    let sum = 0;
    for (const capital of this.#capitals) sum += capital;
    return this.#logScale + Math.log(sum / GAMBLERS);
  }

  /** Logarithm of the capital of gambler k, from 0 to below `GAMBLERS`; −Infinity when there is none left. */
  logCapital(k: number): number {
    return this.#logScale + Math.log(this.#capitals[k] ?? 0);
  }

  /** Values until log E likely reaches `limit`, if they go on with this mean and variance; Infinity when no capital would grow. */
  expectedUntil(limit: number, mean: number, variance: number): number {
    let fastest = 0;
    for (const bet of BETS) {
      const win = 1 + bet * mean;
      // Second-order expansion of E log(1 + λx) at the mean.
      fastest = Math.max(fastest, Math.log(win) - (bet * bet * variance) / (2 * win * win));
    }
    return fastest > 0 ? Math.max(0, limit - this.log) / fastest : Infinity;
  }

  #rescale(): void {
    this.#sinceRescale = 0;
    let largest = 0;
    for (const capital of this.#capitals) if (capital > largest) largest = capital;
    this.#logScale += Math.log(largest);
    for (let k = 0; k < GAMBLERS; k += 1) this.#capitals[k] = (this.#capitals[k] ?? 0) / largest;
  }
}

/**
 * What paired differences D, as shares of the range of the return, say about their mean Δ: E⁺ speaks for Δ > δ, E⁻ for Δ < −δ.
 *
 * A pair with an unresolved episode is given as its lowest and highest possible difference. E⁺ takes the lowest, E⁻ the highest: neither is
 * ever more than the true difference would have made it, so the bound on false evidence holds whatever was lost.
 */
export class PairedEvidence {
  readonly #margin: number;
  readonly #promote = new Evidence();
  readonly #regress = new Evidence();

  /** @param margin δ as a share of the range, in [0, 1). @throws RangeError when it is not. */
  constructor(margin: number) {
    if (!(margin >= 0 && margin < 1)) throw new RangeError(`expected a margin from 0 to below 1, got ${margin}`);
    this.#margin = margin;
  }

  /** Takes the next difference in, in [−1, 1]; both ends are equal when it is known. */
  fold(low: number, high: number): void {
    this.#promote.fold(low - this.#margin);
    this.#regress.fold(-high - this.#margin);
  }

  /** log E⁺ */
  get promote(): number {
    return this.#promote.log;
  }

  /** log E⁻ */
  get regress(): number {
    return this.#regress.log;
  }

  /**
   * Pairs until one of them likely reaches `limit`. A difference within `error`, its uncertainty, could be `error` in either
   * direction and is taken for that.
   */
  expectedUntil(limit: number, mean: number, variance: number, error: number): number {
    return Math.min(
      this.#promote.expectedUntil(limit, Math.max(mean - this.#margin, error), variance),
      this.#regress.expectedUntil(limit, Math.max(-mean - this.#margin, error), variance),
    );
  }
}
