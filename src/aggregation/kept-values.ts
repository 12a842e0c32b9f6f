import { quantile } from 'simple-statistics';

/** 8 MB of values; beyond it quantiles are those of the first so many. */
const MOST_KEPT = 1_000_000;
const FIRST_CAPACITY = 1024;

/** Values in index order, 8 bytes each, for quantiles. */
export class KeptValues {
  #values = new Float64Array(FIRST_CAPACITY);
  #count = 0;

  add(value: number): void {
    if (this.#count === MOST_KEPT) return;
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(Math.min(2 * this.#values.length, MOST_KEPT));
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  /** Values that the quantiles are of: all that were added, up to a million. */
  get count(): number {
    return this.#count;
  }

  /** One for each probability in [0, 1], interpolated linearly between neighbours; undefined while there are no values. */
  quantiles(probabilities: readonly number[]): readonly number[] | undefined {
    if (this.#count === 0) return undefined;
    return quantile(Array.from(this.#values.subarray(0, this.#count)), probabilities);
  }
}
