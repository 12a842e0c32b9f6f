/**
 * λₖ = 0.95·0.6ᵏ for k = 0 … 8. The best bet on a mean m with variance σ² is about m/σ²: with σ² = 0.2 these suit means from 0.2 down to 0.003. The
 * largest suits pairs that nearly all favour the same side, for example when a checkpoint fails only where the other one does.
 */
const BETS = Float64Array.from({ length: 9 }, (_, k) => 0.95 * 0.6 ** k);
export const GAMBLERS = BETS.length;
/** No bet risks more than this share of its capital. */
const BET_CAP = 0.95;
/**
 * Starting capital of the gambler with the largest bet; each other one has 1. It makes eight wins without a loss sufficient at a confidence of 95 %.
 */
const LARGEST_START = 1.625;
const START = LARGEST_START + GAMBLERS - 1;
/** Values between two rescalings of the capitals: 32 factors between 1/20 and 3 stay within floating point. */
const RESCALE_PERIOD = 32;

/** The means from which on a bet is limited by its risk: λₖ = 0.95/(1 + m). */
export const LIMITING_MEANS: readonly number[] = [...BETS].map((bet) => BET_CAP / bet - 1).filter((mean) => mean < 1);

/**
 * Evidence that the mean of values in [−1, 1] is above m: the capital of nine gamblers together, relative to their start, who each stake a fixed
 * share of it on every value, E = Σ wₖ·Π(1 + λₖ·(x − m)) (after Waudby-Smith and Ramdas 2024), with λₖ at most 0.95/(1 + m).
 *
 * If the mean given the values before is m or less, no capital is expected to grow, so E ever reaches a threshold T with probability at most 1/T
 * (Ville 1939). That holds at all times at once: E may be checked after every value. Capitals are stored relative to a common scale, because they
 * leave the range of floating point after some thousand values. A gambler 10³⁰⁸ times poorer than the richest has nothing from then on, which can
 * only lower E.
 */
export class Evidence {
  readonly #mean: number;
  readonly #bets: Float64Array;
  /** Relative to the scale. */
  readonly #capitals = new Float64Array(GAMBLERS).fill(1);
  #logScale = 0;
  #sinceRescale = 0;

  /** @param mean m, from −1 to 1. */
  constructor(mean: number) {
    this.#mean = mean;
    this.#bets = BETS.map((bet) => Math.min(bet, BET_CAP / (1 + mean)));
    this.#capitals[0] = LARGEST_START;
  }

  fold(value: number): void {
    const [capitals, bets, excess] = [this.#capitals, this.#bets, value - this.#mean];
    for (let k = 0; k < GAMBLERS; k += 1) capitals[k] = (capitals[k] ?? 0) * (1 + (bets[k] ?? 0) * excess);
    this.#sinceRescale += 1;
    if (this.#sinceRescale === RESCALE_PERIOD) this.#rescale();
  }

  /** log E; 0 before the first value. */
  get log(): number {
    let sum = 0;
    for (const capital of this.#capitals) sum += capital;
    return this.#logScale + Math.log(sum / START);
  }

  /** Returns the logarithm of the share of gambler k in E, from 0 to below `GAMBLERS`; −Infinity when there is none left. */
  logCapital(k: number): number {
    return this.#logScale + Math.log((this.#capitals[k] ?? 0) / START);
  }

  /**
   * Estimates how much the mean of the values exceeds the true one when E reaches a threshold, per unit of their variance. By Wald's identity it is
   * off by −Cov(N, x̄)/E N, with N the number of values. A mean that is higher by ε has multiplied every gambler's capital by exp(N·ε·λ/(1 + λ·(x̄ −
   * m))), and N changes by the time in which the capitals grow by as much. Each gambler counts with its capital. It is 0 before there is evidence.
   *
   * @param excess of the mean of the values over m.
   */
  estimateOvershoot(excess: number): number {
    const log = this.log;
    let [slope, grown] = [0, 0];
    for (const [k, bet] of this.#bets.entries()) {
      const own = this.logCapital(k);
      if (own === -Infinity) continue;
      const share = Math.exp(own - log);
      slope += (share * bet) / (1 + bet * excess);
      grown += share * (own + Math.log(START / (k === 0 ? LARGEST_START : 1)));
    }
    return grown > 0 ? slope / grown : 0;
  }

  /**
   * Estimates the values until log E likely reaches `limit`, if they continue with a mean at this distance above m and this variance; Infinity when
   * no capital would grow.
   */
  estimateUntil(limit: number, excess: number, variance: number): number {
    let fastest = 0;
    for (const bet of this.#bets) {
      const win = 1 + bet * excess;
      // Second-order expansion of E log(1 + λx) at the mean.
      fastest = Math.max(fastest, Math.log(win) - (bet * bet * variance) / (2 * win * win));
    }
    return fastest > 0 ? Math.max(0, limit - this.log) / fastest : Infinity;
  }

  #rescale(): void {
    this.#sinceRescale = 0;
    let largest = 0;
    for (const capital of this.#capitals) if (capital > largest) largest = capital;
    // A unit that contains the start exactly, so that without wins and losses E stays 1 to the last digit.
    const unit = largest / LARGEST_START;
    this.#logScale += Math.log(unit);
    for (let k = 0; k < GAMBLERS; k += 1) this.#capitals[k] = (this.#capitals[k] ?? 0) / unit;
  }
}

/**
 * The evidence that paired differences D, as shares of the range of the return, give about their mean Δ: E⁺ is evidence for Δ > δ, E⁻ for Δ < −δ.
 *
 * A pair with an unresolved episode is given as its lowest and highest possible difference. E⁺ uses the lowest, E⁻ the highest: neither ever exceeds
 * what the true difference would have given, so the bound on false evidence holds whatever was lost.
 */
export class PairedEvidence {
  readonly #margin: number;
  readonly #promote: Evidence;
  readonly #regress: Evidence;

  /** @param margin δ as a share of the range, in [0, 1). @throws RangeError when it is not. */
  constructor(margin: number) {
    if (!(margin >= 0 && margin < 1)) throw new RangeError(`expected a margin from 0 to below 1, got ${margin}`);
    this.#margin = margin;
    this.#promote = new Evidence(margin);
    this.#regress = new Evidence(margin);
  }

  /** Adds the next difference, in [−1, 1]; both ends are equal when it is known. */
  fold(low: number, high: number): void {
    this.#promote.fold(low);
    this.#regress.fold(-high);
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
   * Computes the bias of the mean difference after stopping by `promote`, upwards, or by `regress`, downwards. @param mean and variance of the
   * differences.
   */
  computeBias(decision: 'promote' | 'regress', mean: number, variance: number): number {
    if (decision === 'promote') return variance * this.#promote.estimateOvershoot(mean - this.#margin);
    return -variance * this.#regress.estimateOvershoot(-mean - this.#margin);
  }

  /**
   * Estimates the pairs until one of them reaches `limit`. A difference within its uncertainty `error` could have either sign and counts as `error`.
   */
  estimateUntil(limit: number, mean: number, variance: number, error: number): number {
    return Math.min(
      this.#promote.estimateUntil(limit, Math.max(mean - this.#margin, error), variance),
      this.#regress.estimateUntil(limit, Math.max(-mean - this.#margin, error), variance),
    );
  }
}
