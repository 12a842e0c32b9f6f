export interface EpisodeSeconds {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** Shortest time that is distinguished from none; in seconds. */
const SHORTEST = 1e-6;
/** Buckets for each doubling of the time: quantiles are exact to 2^(1/32), which is 2.2 %. */
const PER_DOUBLING = 32;
/** Up to 2⁴⁰ µs, twelve days. */
const DOUBLINGS = 40;

/** How long episodes took, in constant memory. */
export class EpisodeTimes {
  readonly #buckets = new Uint32Array(PER_DOUBLING * DOUBLINGS + 1);
  #count = 0;
  #sum = 0;
  #max = 0;

  add(seconds: number): void {
    const bucket = Math.ceil(Math.log2(seconds / SHORTEST) * PER_DOUBLING);
    const at = Math.min(Math.max(bucket, 0), this.#buckets.length - 1);
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1;
    this.#count += 1;
    this.#sum += seconds;
    if (seconds > this.#max) this.#max = seconds;
  }

  /** Undefined while there is none. */
  summary(): EpisodeSeconds | undefined {
    if (this.#count === 0) return undefined;
    return { mean: this.#sum / this.#count, p50: this.#quantile(0.5), p95: this.#quantile(0.95), max: this.#max };
  }

  /** Upper end of the bucket that holds it. */
  #quantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    const bucket = this.#buckets.findIndex((count) => (seen += count) >= rank);
    return bucket === 0 ? 0 : Math.min(this.#max, SHORTEST * 2 ** (bucket / PER_DOUBLING));
  }
}
