import type { Bounds } from './bounds.ts';
import { figureOf } from './figure.ts';
import { Sample } from './sample.ts';
import type { Estimate, TaskStatistics } from './statistics.ts';
import type { Score } from './stopping-rule.ts';

export interface WeightedTask {
  readonly name: string;
  /** Positive; relative to the weights of the other tasks. */
  readonly weight: number;
}

/** Scores apart by task, and their weighted mean. */
export class TaskResults {
  readonly #tasks: readonly { readonly name: string; readonly share: number; readonly sample: Sample }[];

  /** @throws RangeError when there is no task, or a weight that is not positive and finite. */
  constructor(tasks: readonly WeightedTask[], bounds: Bounds | undefined) {
    const total = tasks.reduce((sum, task) => sum + task.weight, 0);
    if (!(total > 0 && Number.isFinite(total) && tasks.every((task) => task.weight > 0)))
      throw new RangeError('expected at least one task, each with a positive weight');
    this.#tasks = tasks.map(({ name, weight }) => ({ name, share: weight / total, sample: new Sample(bounds) }));
  }

  /** @throws RangeError when there is no such task. */
  add(task: number, score: Score): void {
    this.#sample(task).add(score);
  }

  /** @param confidence of each task's interval; undefined when there may be none. */
  statistics(confidence: number | undefined): TaskStatistics[] {
    return this.#tasks.map(({ name, share, sample }) => ({
      name,
      weight: share,
      episodes: sample.episodes,
      unresolved: sample.unresolved,
      mean: figureOf(sample.moments.mean),
      standardError: figureOf(sample.moments.standardError),
      interval: (confidence === undefined ? undefined : sample.interval(confidence)) ?? null,
    }));
  }

  /** Σ wₖ·x̄ₖ with SE² = Σ wₖ²·sₖ²/nₖ, for exactly these tasks. Null while a task has too few episodes to tell. */
  thisSuite(): Estimate {
    let mean = 0;
    let squaredError = 0;
    for (const { share, sample } of this.#tasks) {
      mean += share * (sample.moments.mean ?? Number.NaN);
      squaredError += (share * (sample.moments.standardError ?? Number.NaN)) ** 2;
    }
    return { mean: figureOf(mean), standardError: figureOf(Math.sqrt(squaredError)) };
  }

  #sample(task: number): Sample {
    const found = this.#tasks[task];
    if (found === undefined) throw new RangeError(`there are ${this.#tasks.length} tasks, got number ${task}`);
    return found.sample;
  }
}
