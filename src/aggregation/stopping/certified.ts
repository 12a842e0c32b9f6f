import { clampToUnit, type Bounds } from '../intervals/bounds.ts';
import { type Capital, createCapital, flushProducts, limitBet, placeBet, readLogCapital, settleBets, type Stake } from './bet-capital.ts';

/**
 * Bets are made for means this many half-widths away. The ends of the interval are rarely symmetric about the mean, and an excluded mean stays
 * excluded: bold bets gain from that.
 */
const AIM = 1.5;
/** Pseudo-value in the variance, times the distance of the worst value: a reserve for losses that have not occurred yet. */
const UNSEEN = 0.17;
/** Squared deviations, on the unit scale, that count as losses of the worst kind before the values show how large losses are. */
const SUPPOSED_LOSSES = 1;
/** Pseudo-value in the sum of squares where the mean is the worst value: constant worst values do not vary, and yet every bet on them is lost. */
const WORST_SO_FAR = 0.4;
/** A mean at this distance from the worst value, in multiples of the distance for which bets are made, gets half of that pseudo-value. */
const NEAR_WORST = 0.8;
/** Pseudo-value in the sum of squares, divided by the number of values: two or three of them say little about their spread. */
const FIRST_VALUES = 0.1;
/** The grid is this much finer than the half-width, so that rounding to it costs at most 1/40 of the width. */
const GRID_FINENESS = 40;
/** When the range of the values changes, so does their spread: earlier knowledge of it counts this much from then on. */
const REMEMBERED = 0.5;
/**
 * The largest number of factors in a product before its logarithm is taken: 32 factors up to 1 + G/2, or some times that in a wide range, stay within
 * floating point.
 */
const FLUSH_PERIOD = 32;

const UNIT: Bounds = { low: 0, high: 1 };

export interface ConfidenceSequenceOptions {
  /** It is on the unit scale, in (0, ½). The bets grow fastest at this distance from the mean. */
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
 * needs. With z the distance of m from the worst value, a = 1.5·h and σ² the variance, it is
 *
 *     λ = min(a/(σ² + a·d + 0.17·z/t), 0.95/z)          σ² = (Σ e² + 0.4·b²/(b² + w²) + 0.1/t)/t
 *
 * The logarithm of the capital grows by about λa − λ²σ²/2 − λ³·E(loss³)/3 an episode, and fastest where a = λσ² + λ²·E(loss³). Therefore
 * d is (Σ loss³ + z)/(Σ e² + 1), as if one squared deviation had been the worst loss, and 0.17·z/t is a reserve for losses that have not
 * occurred yet. Where returns vary little, nearly all of the capital is soon bet; where great losses are rare, no more than they allow.
 *
 * Deviations e are from the mean of the values so far. Equal values therefore have none, even if they are the worst possible ones, on which
 * every bet is lost. So σ² is larger when the distance w of their mean from the worst value is not far above b = 0.8·a.
 *
 * An unresolved value is given as its lowest and highest possible one: the bet from above is settled at the lowest, the bet from below at
 * the highest, so neither capital exceeds what the true value would have made of it. The value is left out of μ̂ and σ̂², and counts as a
 * loss of the worst kind, which it is to both capitals. A share q of such values also takes up to q/2 of the distance h from either end, so
 * a is divided by 1 + q/2h. This changes the bets on other values, which is allowed: which values were lost before is known when a bet is
 * made.
 *
 * Values need not be alike, as long as each has the same mean given those before it. They may also lie in a wider range [l, u] around
 * [0, 1] that is known before the value is. Then z is m − l for K⁺ and u − m for K⁻, so the worst value still costs no more than the share
 * 0.95 of the capital.
 *
 * As z rises, a bet falls and what it risks, λz, rises. So a factor of K⁺, 1 + λ(x − m) = 1 + λ(x − l) − λz, falls with m, and one of K⁻
 * rises with m for the same reason. The points that K⁺ drops are therefore a run from 0 upwards, those that K⁻ drops a run from 1 downwards,
 * and only the two ends of the remaining points need to be compared. Capitals are products whose logarithms are taken from time to time:
 * the same points are dropped as with a logarithm for each point and value.
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
  /** Number of values by kind; those from before a change of the range count less. */
  #resolved = 0;
  #unresolved = 0;
  #sum = 0;
  /** Sums over deviations from the mean at the time: their squares, and the cubes of those below it and above it. */
  #squares = 0;
  #cubesBelow = 0;
  #cubesAbove = 0;

  /** @throws RangeError when an option is out of its range. */
  constructor({ halfWidth, confidence, grid = Math.ceil(GRID_FINENESS / halfWidth) }: ConfidenceSequenceOptions) {
    if (!(halfWidth > 0 && halfWidth < 0.5)) throw new RangeError(`expected a half-width between 0 and ½, got ${halfWidth}`);
    if (!(confidence > 0 && confidence < 1)) throw new RangeError(`expected a confidence between 0 and 1, got ${confidence}`);
    if (!Number.isSafeInteger(grid) || grid < GRID_FINENESS / halfWidth)
      throw new RangeError(`expected a grid of at least ${GRID_FINENESS / halfWidth}, got ${grid}`);
    this.#halfWidth = halfWidth;
    this.#grid = grid;
    this.#limit = Math.log(2 / (1 - confidence));
    this.#upward = createCapital(grid);
    this.#downward = createCapital(grid);
    this.#last = grid;
    this.#limitBets();
  }

  /**
   * Adds the next value: its lowest and highest possible one, equal when it is known.
   *
   * @param range of the value, decided by earlier values; both low and high are in it. @throws RangeError when the range does not hold [0, 1].
   */
  fold(low: number, high: number, range = UNIT): void {
    if (range.low !== this.#range.low || range.high !== this.#range.high) this.#changeRange(range);
    settleBets(this.#upward, this.#first, this.#last, this.#computeUpwardStake(), low - range.low);
    settleBets(this.#downward, this.#first, this.#last, this.#computeDownwardStake(), range.high - high);
    this.#dropEnds();
    this.#sinceFlush += 1;
    if (this.#sinceFlush === FLUSH_PERIOD) this.#flush();
    if (low === high) this.#learn(low);
    else this.#unresolved += 1;
  }

  /** Lower end of the interval, in [0, 1]. */
  get low(): number {
    return clampToUnit((this.#first - 1) / this.#grid);
  }

  /** Upper end of the interval, in [0, 1]. */
  get high(): number {
    return clampToUnit((this.#last + 1) / this.#grid);
  }

  /**
   * Whether the values exclude every mean. This happens with probability at most α when the values are drawn alike, and soon when their mean
   * drifts. The interval then stays at the last point that was not dropped.
   */
  get contradicted(): boolean {
    return this.#contradicted;
  }

  /**
   * Estimates the values that are needed until the half-width is reached: the capital that the ends of the target interval lack, over its expected
   * growth. It is the mean over both ends, because one end compensates for the other.
   */
  estimateRemaining(): number {
    const mean = this.#computeMean();
    const centre = Math.min(Math.max(mean, this.#halfWidth), 1 - this.#halfWidth);
    const lowest = Math.floor((centre - this.#halfWidth) * this.#grid) + 1;
    const highest = Math.ceil((centre + this.#halfWidth) * this.#grid) - 1;
    const needed = { low: 0, high: 0 };
    if (lowest >= this.#first && lowest > 1)
      needed.low = this.#estimateValuesToDrop(this.#upward, this.#computeUpwardStake(), lowest, mean - lowest / this.#grid);
    if (highest <= this.#last && highest < this.#grid - 1)
      needed.high = this.#estimateValuesToDrop(this.#downward, this.#computeDownwardStake(), highest, highest / this.#grid - mean);
    return Math.max(1, Math.ceil((needed.low + needed.high) / 2));
  }

  #estimateValuesToDrop(capital: Capital, stake: Stake, point: number, distance: number): number {
    const bet = placeBet(capital, point, stake);
    const win = bet * distance;
    const values = this.#resolved + this.#unresolved + 1;
    const variance = (this.#squares + (UNSEEN + this.#unresolved) * (capital.distances[point] ?? 0)) / values;
    // Third-order expansion of E log(1 + bet·(x − m)) at the mean; positive because of how the bets are made, for a distance of about h or more.
    const growth = Math.log1p(win) - (bet * bet * (variance / 2 + (bet * stake.cubes) / values / 3)) / (1 + win) ** 2;
    return Math.max(0, this.#limit - readLogCapital(capital, point)) / growth;
  }

  #computeUpwardStake(): Stake {
    return this.#computeStake(this.#cubesBelow, this.#computeMean() - this.#range.low);
  }

  #computeDownwardStake(): Stake {
    return this.#computeStake(this.#cubesAbove, this.#range.high - this.#computeMean());
  }

  /** @param cubes of the deviations on the losing side. @param fromWorst distance of the mean from the worst value for the bets. */
  #computeStake(cubes: number, fromWorst: number): Stake {
    const values = this.#resolved + this.#unresolved + 1;
    const aim = (AIM * this.#halfWidth) / (1 + this.#unresolved / (2 * this.#halfWidth * values));
    const worst = SUPPOSED_LOSSES + this.#unresolved;
    const losses = worst + this.#squares;
    const near = (NEAR_WORST * aim) ** 2;
    const squares = this.#squares + (WORST_SO_FAR * near) / (near + fromWorst * fromWorst) + FIRST_VALUES / values;
    return {
      aim,
      cubes,
      seen: squares / values + (aim * cubes) / losses,
      supposed: (UNSEEN + this.#unresolved) / values + (aim * worst) / losses,
    };
  }

  /** Returns μ̂; in the middle before the first value. */
  #computeMean(): number {
    return this.#resolved === 0 ? 0.5 : this.#sum / this.#resolved;
  }

  #learn(value: number): void {
    this.#resolved += 1;
    this.#sum += value;
    const deviation = value - this.#computeMean();
    const square = deviation * deviation;
    this.#squares += square;
    if (deviation < 0) this.#cubesBelow -= square * deviation;
    else this.#cubesAbove += square * deviation;
  }

  #dropEnds(): void {
    while (readLogCapital(this.#upward, this.#first) >= this.#limit) {
      if (this.#first === this.#last) return this.#contradict();
      this.#first += 1;
    }
    while (readLogCapital(this.#downward, this.#last) >= this.#limit) {
      if (this.#first === this.#last) return this.#contradict();
      this.#last -= 1;
    }
  }

  #changeRange(range: Bounds): void {
    if (!(range.low <= 0 && range.high >= 1)) throw new RangeError(`expected a range around [0, 1], got [${range.low}, ${range.high}]`);
    this.#range = range;
    this.#limitBets();
    this.#resolved *= REMEMBERED;
    this.#unresolved *= REMEMBERED;
    this.#sum *= REMEMBERED;
    this.#squares *= REMEMBERED;
    this.#cubesBelow *= REMEMBERED;
    this.#cubesAbove *= REMEMBERED;
  }

  #limitBets(): void {
    for (let point = this.#first; point <= this.#last; point += 1) {
      limitBet(this.#upward, point, point / this.#grid - this.#range.low, this.#grid);
      limitBet(this.#downward, point, this.#range.high - point / this.#grid, this.#grid);
    }
  }

  #contradict(): void {
    this.#contradicted = true;
  }

  #flush(): void {
    this.#sinceFlush = 0;
    flushProducts(this.#upward, this.#first, this.#last);
    flushProducts(this.#downward, this.#first, this.#last);
  }
}
