/** 2 MB of returns a candidate; the probability of improvement uses only the first ones. */
const MOST_KEPT = 100_000;

export interface PairedReturns {
  readonly candidate: Float64Array<ArrayBuffer>;
  readonly baseline: Float64Array<ArrayBuffer>;
}

/** The returns of resolved pairs in index order, by task. */
export class RetainedPairs {
  readonly #tasks = new Map<number, { readonly candidate: number[]; readonly baseline: number[] }>();
  #count = 0;

  add(task: number, baseline: number, candidate: number): void {
    if (this.#count === MOST_KEPT) return;
    this.#count += 1;
    let returns = this.#tasks.get(task);
    if (returns === undefined) this.#tasks.set(task, (returns = { candidate: [], baseline: [] }));
    returns.candidate.push(candidate);
    returns.baseline.push(baseline);
  }

  /** Stored pairs: all that were added, up to a hundred thousand. */
  get count(): number {
    return this.#count;
  }

  /** Returns the pairs of the tasks that have some, in the order of the suite. The caller owns them. */
  groupByTask(): readonly PairedReturns[] {
    const tasks = [...this.#tasks].sort(([a], [b]) => a - b);
    return tasks.map(([, { candidate, baseline }]) => ({ candidate: Float64Array.from(candidate), baseline: Float64Array.from(baseline) }));
  }
}
