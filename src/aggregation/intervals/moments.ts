/** A smaller sum of squares may have lost squares that floating point rounds to 0; from here on those are negligible. */
const SMALLEST_SQUARES = 1e-280;

/**
 * Mean, variance and third moment in one pass, with constant state (Welford 1962; Pébay 2008).
 *
 * The running mean is subtracted before squaring, so an offset that is large beside the spread costs no precision. Floating-point addition is not
 * associative: values must be added in index order for the result to be the same on every run.
 */
export class Moments {
  #count = 0;
  #mean = 0;
  #squares = 0;
  #cubes = 0;
  #min = Infinity;
  #max = -Infinity;

  add(value: number): void {
    this.#count += 1;
    const delta = value - this.#mean;
    const step = delta / this.#count;
    this.#cubes += step * (step * delta * (this.#count - 1) * (this.#count - 2) - 3 * this.#squares);
    this.#mean += step;
    this.#squares += delta * (value - this.#mean);
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  /** Returns a second accumulator with the same state, independent from here on. */
  copy(): Moments {
    const copy = new Moments();
    copy.#count = this.#count;
    copy.#mean = this.#mean;
    copy.#squares = this.#squares;
    copy.#cubes = this.#cubes;
    copy.#min = this.#min;
    copy.#max = this.#max;
    return copy;
  }

  get count(): number {
    return this.#count;
  }

  /** It is undefined while there are no values. */
  get mean(): number | undefined {
    return this.#count === 0 ? undefined : this.#mean;
  }

  /** Σ(xᵢ − mean)² */
  get sumOfSquares(): number {
    return this.#squares;
  }

  /** Σ(xᵢ − mean)³ */
  get sumOfCubes(): number {
    return this.#cubes;
  }

  /** Whether floating point holds the squared deviations: they neither overflow nor, for values that differ, round to 0. */
  get isSpreadHeld(): boolean {
    return this.#squares < Infinity && (this.#squares >= SMALLEST_SQUARES || !(this.#max > this.#min));
  }

  /** Sample variance, with divisor n − 1; undefined for fewer than two values, or when floating point cannot hold their spread. */
  get variance(): number | undefined {
    return this.#count < 2 || !this.isSpreadHeld ? undefined : this.#squares / (this.#count - 1);
  }

  get standardDeviation(): number | undefined {
    const variance = this.variance;
    return variance === undefined ? undefined : Math.sqrt(variance);
  }

  /** The standard error of the mean, s/√n; undefined when the variance is. */
  get standardError(): number | undefined {
    const variance = this.variance;
    return variance === undefined ? undefined : Math.sqrt(variance / this.#count);
  }

  get min(): number | undefined {
    return this.#count === 0 ? undefined : this.#min;
  }

  get max(): number | undefined {
    return this.#count === 0 ? undefined : this.#max;
  }
}
