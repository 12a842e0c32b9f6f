import { toFigure } from '../intervals/figure.ts';
import { computeClopperPearsonInterval, type Interval } from '../intervals/intervals.ts';
import { estimatePassPowerK, estimatePassAtK, averageOverTasks, type Attempts } from '../resampling/pass-at-k.ts';
import type { SuccessStatistics, TaskEstimate } from './statistics.ts';
import type { WeightedTask } from './task-results.ts';

/** What counts as a success, as the suite declares it. */
export interface SuccessCriterion {
  /** An episode succeeds with this score or a higher one. */
  readonly threshold: number;
  /** Numbers of attempts for pass@k and pass^k: whole numbers from 1 on. */
  readonly k: readonly number[];
}

const BIASED =
  'pass@k and pass^k are without bias only for a number of episodes that was fixed in advance. Here the returns decided it: use the rule "fixed" for figures to quote.';

/** Successes among the resolved episodes, by task. */
export class SuccessResults {
  readonly #criterion: SuccessCriterion;
  readonly #tasks: readonly { readonly name: string; readonly weight: number; count: number; successes: number }[];
  readonly #isStratified: boolean;

  /** @param isStratified whether tasks are not drawn in proportion to their weights, so that the rate has to apply these. */
  constructor(criterion: SuccessCriterion, tasks: readonly WeightedTask[], isStratified = false) {
    this.#criterion = criterion;
    this.#tasks = tasks.map(({ name, weight }) => ({ name, weight, count: 0, successes: 0 }));
    this.#isStratified = isStratified;
  }

  /** Adds a resolved episode. @throws RangeError when there is no such task. */
  add(task: number, score: number): void {
    const attempts = this.#tasks[task];
    if (attempts === undefined) throw new RangeError(`there are ${this.#tasks.length} tasks, got number ${task}`);
    attempts.count += 1;
    if (score >= this.#criterion.threshold) attempts.successes += 1;
  }

  /** @param fixed whether the number of episodes was fixed in advance. */
  computeStatistics(unresolved: number, confidence: number, fixed: boolean): SuccessStatistics {
    const successes = this.#tasks.reduce((sum, task) => sum + task.successes, 0);
    const resolved = this.#tasks.reduce((sum, task) => sum + task.count, 0);
    return {
      threshold: this.#criterion.threshold,
      count: successes,
      rate: toFigure(this.#isStratified ? this.#computeStratifiedRate() : successes / resolved),
      clopperPearson: fixed ? computeRateInterval(successes, resolved, unresolved, confidence) : null,
      pass: this.#criterion.k.map((k) => ({
        k,
        anyOf: this.#estimate((attempts) => estimatePassAtK(attempts, k), confidence),
        allOf: this.#estimate((attempts) => estimatePassPowerK(attempts, k), confidence),
      })),
    };
  }

  /** @param fixed whether the number of episodes was fixed in advance. */
  listWarnings(fixed: boolean): string[] {
    return [...this.#warnOfMisses(), ...(fixed || this.#criterion.k.every((k) => k === 1) ? [] : [BIASED])];
  }

  #warnOfMisses(): string[] {
    const fewest = this.#tasks.reduce((least, task) => (task.count < least.count ? task : least));
    const missed = this.#criterion.k.filter((k) => k > fewest.count);
    if (missed.length === 0) return [];
    return [
      `pass@k and pass^k do not exist for k = ${missed.join(', ')}: they need k resolved episodes of every task, and task "${fewest.name}" has ${fewest.count}.`,
    ];
  }

  /** Returns NaN while a task has no resolved episode. */
  #computeStratifiedRate(): number {
    let [rate, total] = [0, 0];
    for (const { weight, count, successes } of this.#tasks) {
      rate += weight * (successes / count);
      total += weight;
    }
    return rate / total;
  }

  /** Returns null where a task has too few episodes for the estimate. */
  #estimate(of: (attempts: Attempts) => number | undefined, confidence: number): TaskEstimate {
    const values = this.#tasks.map(of);
    const known = values.filter((value) => value !== undefined);
    const mean = known.length === values.length ? averageOverTasks(known, confidence) : undefined;
    return mean ?? { value: null, low: null, high: null };
  }
}

/** Covers every value that the unresolved episodes could have had; null without an episode. */
function computeRateInterval(successes: number, resolved: number, unresolved: number, confidence: number): Interval | null {
  const trials = resolved + unresolved;
  if (trials === 0) return null;
  const { high } = computeClopperPearsonInterval({ successes: successes + unresolved, trials }, confidence);
  return { ...computeClopperPearsonInterval({ successes, trials }, confidence), high };
}
