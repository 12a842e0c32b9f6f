import { clampUnit } from './bounds.ts';
import type { Bounds } from './bounds.ts';

/** No bet risks more than this share of its capital, so no factor falls below ½. */
export const BET_CAP = 0.5;
/** The grid is this much finer than the half-width aimed at, so that rounding to it costs at most 1/40 of the width. */
const GRID_FINENESS = 40;
/** When the range of the values changes, so does their spread: what was learned of it before counts this much from then on. */
const REMEMBERED = 0.5;
/** Products of at most this many factors are kept before their logarithm is taken: 32 factors up to 1 + G/2, or some times that in a wide range, stay within floating point. */
const FLUSH_PERIOD = 32;

const UNIT: Bounds = { low: 0, high: 1 };

export interface ConfidenceSequenceOptions {
  /** Aimed at, on the unit scale, in (0, ½). The bets grow fastest at this distance from the mean. */
  readonly halfWidth: number;
  readonly confidence: number;
  /** Points 0, 1/grid, … 1 are tested; at least 40/halfWidth, which is the default. */
  readonly grid?: number;
}

/**
 * Target-aware betting confidence sequence for the mean of values in [0, 1] (after Waudby-Smith and Ramdas 2024): the running
 * interval holds the mean at all times at once, with the given confidence, for any distribution on [0, 1].
 *
 * Every candidate mean m on a grid is bet against, from both sides. Were m the mean, neither capital K⁺(m) nor K⁻(m) could be expected to
 * grow; m is dropped for good when one of them reaches 2/α. The size of a bet depends on earlier values only, which is all that validity
 * needs; λ = h/σ̂² is the size that grows fastest when the mean is h away.
 *
 * An unresolved value is given as its lowest and highest possible one: the bet from above is settled at the lowest, the bet from
 * below at the highest, so both capitals are at most what the true value would have made of them. It is left out of μ̂ and σ̂² (and so the
 * bets remain functions of the past): the bets on resolved values are those that would have been made without it, hence an unresolved
 * value can only widen the interval.
 *
 * Values need not be alike, as long as each has the same mean given those before it. They may also lie in a wider range [l, u] around [0, 1] that
 * is known before the value is. A bet of K⁺ against m is then at most c/(m − l), one of K⁻ at most c/(u − m): still, the worst value costs the
 * share c of the capital.
 *
 * A factor of K⁺ falls with m: it is 1 + λ(x − m) up to m = l + c/λ, and 1 − c + c·(x − l)/(m − l) from there on, where x ≥ l. One of K⁻ rises
 * with m for the same reason. So the points that K⁺ drops are a run from 0 upwards, those that K⁻ drops a run from 1 downwards, and only the two
 * ends of what is alive need be looked at. Capitals are products, flushed into logarithms now and then: the same points die as with a
 * logarithm for each point and value.
 */
export class ConfidenceSequence {
  readonly #halfWidth: number;
  readonly #grid: number;
  /** log(2/α) */
  readonly #limit: number;
  readonly #upward: Capital;
  readonly #downward: Capital;
  #range: Bounds = UNIT;
  #first = 0;
  #last: number;
  #contradicted = false;
  #sinceFlush = 0;
  /** Resolved values; those from before the range changed count less. */
  #resolved = 0;
  #sum = 0;
  #squares = 0;

  /** @throws RangeError when an option is out of its range. */
  constructor({ halfWidth, confidence, grid = Math.ceil(GRID_FINENESS / halfWidth) }: ConfidenceSequenceOptions) {
    if (!(halfWidth > 0 && halfWidth < 0.5)) throw new RangeError(`expected a half-width between 0 and ½, got ${halfWidth}`);
    if (!(confidence > 0 && confidence < 1)) throw new RangeError(`expected a confidence between 0 and 1, got ${confidence}`);
    if (!Number.isSafeInteger(grid) || grid < GRID_FINENESS / halfWidth)
      throw new RangeError(`expected a grid of at least ${GRID_FINENESS / halfWidth}, got ${grid}`);
    this.#halfWidth = halfWidth;
    this.#grid = grid;
    this.#limit = Math.log(2 / (1 - confidence));
    this.#upward = newCapital(grid);
    this.#downward = newCapital(grid);
    this.#last = grid;
    this.#limitBets();
  }

  /**
   * Takes the next value: its lowest and highest possible one, equal when it is known.
   *
   * @param range in which the value had to lie, decided by earlier values; both low and high are in it.
   * @throws RangeError when the range does not hold [0, 1].
   */
  fold(low: number, high: number, range = UNIT): void {
    if (range.low !== this.#range.low || range.high !== this.#range.high) this.#changeRange(range);
    const bet = this.#bet();
    settle(this.#upward, this.#first, this.#last, bet, low, this.#grid, 1);
    settle(this.#downward, this.#first, this.#last, bet, high, this.#grid, -1);
    this.#dropEnds();
    this.#sinceFlush += 1;
    if (this.#sinceFlush === FLUSH_PERIOD) this.#flush();
    if (low === high) this.#learn(low);
  }

  /** Lower end of the interval, in [0, 1]. */
  get low(): number {
    return clampUnit((this.#first - 1) / this.#grid);
  }

  /** Upper end of the interval, in [0, 1]. */
  get high(): number {
    return clampUnit((this.#last + 1) / this.#grid);
  }

  /**
   * Whether the values speak against every mean at once. Happens with probability at most α when the values are drawn alike, and soon when
   * their mean drifts. The interval then stays at the last point that was alive.
   */
  get contradicted(): boolean {
    return this.#contradicted;
  }

  /**
   * Values likely needed until the half-width is reached: what the capital at the ends of the interval aimed at lacks, over the growth
   * that is expected of it. The mean of both ends, because one that is behind is made up for by the other that is ahead.
   */
  expectedRemaining(): number {
    const mean = this.#mean();
    const centre = Math.min(Math.max(mean, this.#halfWidth), 1 - this.#halfWidth);
    const lowest = Math.floor((centre - this.#halfWidth) * this.#grid) + 1;
    const highest = Math.ceil((centre + this.#halfWidth) * this.#grid) - 1;
    const low = lowest < this.#first || lowest <= 1 ? 0 : this.#valuesToDrop(this.#upward, lowest, mean - lowest / this.#grid);
    const high =
      highest > this.#last || highest >= this.#grid - 1 ? 0 : this.#valuesToDrop(this.#downward, highest, highest / this.#grid - mean);
    return Math.max(1, Math.ceil((low + high) / 2));
  }

  #valuesToDrop(capital: Capital, point: number, distance: number): number {
    const bet = Math.min(this.#bet(), capital.caps[point] ?? 0);
    const win = bet * distance;
    // Second-order expansion of E log(1 + bet·(x − m)) at the mean; positive because bet ≤ h/σ̂² and distance is about h or more.
    const growth = Math.log1p(win) - (bet * bet * this.#variance()) / (2 * (1 + win) * (1 + win));
    return Math.max(0, this.#limit - logOf(capital, point)) / growth;
  }

  #bet(): number {
    return this.#halfWidth / this.#variance();
  }

  /** μ̂ with one pseudo-value of ½ */
  #mean(): number {
    return (0.5 + this.#sum) / (this.#resolved + 1);
  }

  /** σ̂² with one pseudo-value of ¼ */
  #variance(): number {
    return (0.25 + this.#squares) / (this.#resolved + 1);
  }

  #learn(value: number): void {
    this.#resolved += 1;
    this.#sum += value;
    const deviation = value - this.#mean();
    this.#squares += deviation * deviation;
  }

  #dropEnds(): void {
    while (logOf(this.#upward, this.#first) >= this.#limit) {
      if (this.#first === this.#last) return this.#contradict();
      this.#first += 1;
    }
    while (logOf(this.#downward, this.#last) >= this.#limit) {
      if (this.#first === this.#last) return this.#contradict();
      this.#last -= 1;
    }
  }

  #changeRange(range: Bounds): void {
    if (!(range.low <= 0 && range.high >= 1)) throw new RangeError(`expected a range around [0, 1], got [${range.low}, ${range.high}]`);
    this.#range = range;
    this.#limitBets();
    this.#resolved *= REMEMBERED;
    this.#sum *= REMEMBERED;
    this.#squares *= REMEMBERED;
  }

  #limitBets(): void {
    for (let point = this.#first; point <= this.#last; point += 1) {
      this.#upward.caps[point] = BET_CAP / (point / this.#grid - this.#range.low);
      this.#downward.caps[point] = BET_CAP / (this.#range.high - point / this.#grid);
    }
  }

  #contradict(): void {
    this.#contradicted = true;
  }

  #flush(): void {
    this.#sinceFlush = 0;
    flush(this.#upward, this.#first, this.#last);
    flush(this.#downward, this.#first, this.#last);
  }
}

/** Of the bets in one direction, for each grid point. */
interface Capital {
  /** Largest bet allowed against the point. */
  readonly caps: Float64Array;
  /** Product of the factors since the last flush. */
  readonly product: Float64Array;
  /** Logarithm of all factors before. */
  readonly flushed: Float64Array;
}

function newCapital(grid: number): Capital {
  return {
    caps: new Float64Array(grid + 1),
    product: new Float64Array(grid + 1).fill(1),
    flushed: new Float64Array(grid + 1),
  };
}

function logOf(capital: Capital, point: number): number {
  return (capital.flushed[point] ?? 0) + Math.log(capital.product[point] ?? 1);
}

/** Multiplies the capital of the points first … last by 1 + direction·min(bet, cap)·(value − m). */
function settle(capital: Capital, first: number, last: number, bet: number, value: number, grid: number, direction: 1 | -1): void {
  const { caps, product } = capital;
  for (let point = first; point <= last; point += 1) {
    const stake = direction * Math.min(bet, caps[point] ?? 0);
    product[point] = (product[point] ?? 1) * (1 + stake * (value - point / grid));
  }
}

function flush({ product, flushed }: Capital, first: number, last: number): void {
  for (let point = first; point <= last; point += 1) {
    flushed[point] = (flushed[point] ?? 0) + Math.log(product[point] ?? 1);
    product[point] = 1;
  }
}
