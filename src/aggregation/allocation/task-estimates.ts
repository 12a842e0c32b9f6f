import type { Bounds } from '../intervals/bounds.ts';
import { Moments } from '../intervals/moments.ts';

export interface EstimatedTask {
  /** Its share of the suite; all shares sum to 1. */
  readonly weight: number;
  /** The mean of its returns. */
  readonly mean: number;
  /** The variance of its returns. It is positive if the returns have bounds. */
  readonly variance: number;
}

/**
 * Mean and variance of every task from few returns of each. Both are shrunk towards those of all tasks together, the more the tasks look alike, so
 * that a handful of similar episodes does not make a task count as quiet. Constant state; a return takes constant time.
 */
export class TaskEstimates {
  readonly #tasks: readonly ObservedTask[];
  /**
   * The assumed variance of all tasks, and the assumed variance of squared deviations within them, before any are known; together they count as one
   * deviation.
   */
  readonly #prior: { readonly variance: number; readonly noise: number; readonly count: number };

  /** @param weights shares of the tasks, summing to 1. */
  constructor(weights: readonly number[], bounds: Bounds | undefined) {
    this.#tasks = weights.map((weight) => ({ weight, returns: new Moments(), deviations: new Moments() }));
    // No variance within bounds exceeds a quarter of the squared range.
    const largest = bounds === undefined ? 0 : (bounds.high - bounds.low) ** 2 / 4;
    this.#prior = { variance: largest, noise: largest ** 2, count: bounds === undefined ? 0 : 1 };
  }

  /** @throws RangeError when there is no such task. */
  add(task: number, value: number): void {
    const found = this.#tasks[task];
    if (found === undefined) throw new RangeError(`there are ${this.#tasks.length} tasks, got number ${task}`);
    const { returns, deviations } = found;
    const before = returns.mean;
    returns.add(value);
    // A term of Welford's: its expectation is the variance.
    if (before !== undefined) deviations.add((value - before) * (value - (returns.mean ?? value)));
  }

  /** Returns undefined while there is no return. */
  getCurrent(): readonly EstimatedTask[] | undefined {
    const seen = this.#tasks.filter(({ returns }) => returns.count > 0);
    if (seen.length === 0) return undefined;
    const { variance, noise } = this.#estimateTypicalSpread();
    const variances = shrink(
      this.#tasks.map(({ weight, deviations }) => ({ weight, mean: deviations.mean, error: noise / deviations.count })),
      variance,
    );
    const overall = sum(seen, ({ weight, returns }) => weight * (returns.mean ?? 0)) / sum(seen, ({ weight }) => weight);
    const means = shrink(
      this.#tasks.map(({ weight, returns }, k) => ({ weight, mean: returns.mean, error: (variances[k] ?? variance) / returns.count })),
      overall,
    );
    return this.#tasks.map(({ weight }, k) => ({ weight, mean: means[k] ?? overall, variance: variances[k] ?? variance }));
  }

  /** Estimates the variance of returns, and that of squared deviations, within the tasks. */
  #estimateTypicalSpread(): { variance: number; noise: number } {
    const prior = this.#prior;
    const tasks = this.#tasks;
    const variance = prior.variance + sum(tasks, ({ returns }) => returns.sumOfSquares);
    const noise = prior.noise + sum(tasks, ({ deviations }) => deviations.sumOfSquares);
    return {
      variance: variance / Math.max(1, prior.count + sum(tasks, ({ deviations }) => deviations.count)),
      noise: noise / Math.max(1, prior.count + sum(tasks, ({ deviations }) => Math.max(0, deviations.count - 1))),
    };
  }
}

interface ObservedTask {
  readonly weight: number;
  readonly returns: Moments;
  /** Squared deviations of the returns from their mean. */
  readonly deviations: Moments;
}

interface TaskMean {
  readonly weight: number;
  /** It is undefined when nothing is known. */
  readonly mean: number | undefined;
  /** Variance of `mean` about the truth. */
  readonly error: number;
}

/**
 * Shrinks by empirical Bayes (Efron and Morris 1973): a mean keeps the share τ²/(τ² + its error) of its distance from `centre`, where τ² is the
 * variance between tasks that their errors do not explain. Tasks that are alike all get `centre`.
 */
function shrink(means: readonly TaskMean[], centre: number): number[] {
  const between = sum(means, ({ weight, mean, error }) => (mean === undefined ? 0 : weight * ((mean - centre) ** 2 - error)));
  const seen = sum(means, ({ weight, mean }) => (mean === undefined ? 0 : weight));
  const spread = seen > 0 ? Math.max(0, between / seen) : 0;
  // An unknown task has an infinite error, or an undefined one where nothing varies.
  return means.map(({ mean, error }) =>
    mean === undefined || spread === 0 ? centre : centre + (spread / (spread + error)) * (mean - centre),
  );
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
