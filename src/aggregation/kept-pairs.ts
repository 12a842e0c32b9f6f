import type { TaskReturns } from './probability-of-improvement.ts';

/** 2 MB of returns a candidate; probability of improvement is that of the first so many. */
const MOST_KEPT = 100_000;

/** The returns of resolved pairs in index order, by task. */
export class KeptPairs {
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

  /** Pairs kept: all that were added, up to a hundred thousand. */
  get count(): number {
    return this.#count;
  }

  /** Of the tasks that came up, in the order of the suite. */
  byTask(): readonly TaskReturns[] {
    return [...this.#tasks].sort(([a], [b]) => a - b).map(([, returns]) => returns);
  }
}
