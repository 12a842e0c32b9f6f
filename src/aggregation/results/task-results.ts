import type { Bounds } from '../intervals/bounds.ts';
import { computeClusteredError, type Cluster } from '../intervals/clustered-error.ts';
import { computeStudentQuantile } from '../intervals/distribution-quantiles.ts';
import { toFigure } from '../intervals/figure.ts';
import { createInterval } from '../intervals/intervals.ts';
import { Sample } from '../stopping/sample.ts';
import { computeShares } from '../allocation/shares.ts';
import type { Estimate, TaskPopulation, TaskStatistics } from './statistics.ts';
import type { Score } from '../stopping/stopping-rule.ts';

export interface WeightedTask {
  readonly name: string;
  /** Positive; relative to the weights of the other tasks. */
  readonly weight: number;
}

interface TaskResult {
  readonly name: string;
  /** All shares sum to 1. */
  readonly share: number;
  readonly sample: Sample;
}

/** With two tasks whose means happen to be close, the interval would be far too narrow for other tasks. */
const FEWEST_TASKS = 3;

/** With fewer tasks, the clustered standard error is itself uncertain, and tends to be too small. */
const FEW_TASKS = 20;

/** Scores by task, and their weighted mean. */
export class TaskResults {
  readonly #tasks: readonly TaskResult[];
  readonly #bounds: Bounds | undefined;

  /** @throws RangeError when there is no task, or a weight that is not positive and finite. */
  constructor(tasks: readonly WeightedTask[], bounds: Bounds | undefined) {
    this.#bounds = bounds;
    const shares = computeShares(tasks.map(({ weight }) => weight));
    this.#tasks = tasks.map(({ name }, task) => ({ name, share: shares[task] ?? 0, sample: new Sample(bounds) }));
  }

  /** @throws RangeError when there is no such task. */
  add(task: number, score: Score): void {
    this.#getSample(task).add(score);
  }

  /** @param confidence of each task's interval; undefined for no intervals. */
  listStatistics(confidence: number | undefined): TaskStatistics[] {
    return this.#tasks.map(({ name, share, sample }) => ({
      name,
      weight: share,
      episodes: sample.episodes,
      unresolved: sample.unresolved,
      mean: toFigure(sample.moments.mean),
      standardError: toFigure(sample.moments.standardError),
      interval: (confidence === undefined ? undefined : sample.computeInterval(confidence)) ?? null,
    }));
  }

  /** Computes Σ wₖ·x̄ₖ with SE² = Σ wₖ²·sₖ²/nₖ, for exactly these tasks. Returns null while a task has too few episodes. */
  estimateSuite(): Estimate {
    let mean = 0;
    let squaredError = 0;
    for (const { share, sample } of this.#tasks) {
      mean += share * (sample.moments.mean ?? Number.NaN);
      squaredError += (share * (sample.moments.standardError ?? Number.NaN)) ** 2;
    }
    return { mean: toFigure(mean), standardError: toFigure(Math.sqrt(squaredError)) };
  }

  /**
   * Estimates the mean over all resolved episodes, with a standard error for tasks that are themselves drawn. Returns null for one task, which says
   * nothing about others.
   */
  estimateTaskPopulation(mean: number | undefined, confidence: number): TaskPopulation | null {
    return this.#estimatePopulation(mean, this.#buildClusters(), confidence);
  }

  /**
   * Does the same where tasks are not drawn in proportion to their weights: each task that has resolved episodes counts with its share instead of
   * their number.
   */
  estimateStratifiedPopulation(confidence: number): TaskPopulation | null {
    const clusters = this.#buildClusters(({ share }) => share);
    const total = clusters.reduce((sum, { count }) => sum + count, 0);
    const mean = clusters.reduce((sum, cluster) => sum + cluster.count * cluster.mean, 0) / total;
    return this.#estimatePopulation(total > 0 ? mean : undefined, clusters, confidence);
  }

  #estimatePopulation(mean: number | undefined, clusters: readonly Cluster[], confidence: number): TaskPopulation | null {
    if (this.#tasks.length === 1) return null;
    const standardError = computeClusteredError(clusters);
    const tasks = clusters.length;
    if (mean === undefined || standardError === undefined || !Number.isFinite(standardError))
      return { mean: toFigure(mean), standardError: null, tasks, interval: null };
    if (tasks < FEWEST_TASKS) return { mean, standardError, tasks, interval: null };
    const halfWidth = computeStudentQuantile((1 + confidence) / 2, tasks - 1) * standardError;
    const { low, high } = this.#bounds ?? { low: -Infinity, high: Infinity };
    const [from, to] = [Math.max(low, mean - halfWidth), Math.min(high, mean + halfWidth)];
    return { mean, standardError, tasks, interval: createInterval('clustered-t', from, to, confidence) };
  }

  listWarnings(): string[] {
    const tasks = this.#buildClusters().length;
    if (this.#tasks.length === 1 || tasks === 0 || tasks >= FEW_TASKS) return [];
    if (tasks < FEWEST_TASKS)
      return [
        `What tasks like these return on average cannot be estimated from ${tasks} ${tasks === 1 ? 'task' : 'tasks'}: it takes ${FEWEST_TASKS} at least.`,
      ];
    return [
      `The standard error for the population of tasks rests on ${tasks} tasks: with fewer than ${FEW_TASKS} it tends to be too small.`,
    ];
  }

  /** Builds clusters of the tasks that have resolved episodes. @param countOf a task's weight; by default its number of episodes. */
  #buildClusters(countOf = ({ sample }: TaskResult): number => sample.moments.count): Cluster[] {
    return this.#tasks.flatMap((task) => {
      const { mean } = task.sample.moments;
      return mean === undefined ? [] : [{ count: countOf(task), mean }];
    });
  }

  #getSample(task: number): Sample {
    const found = this.#tasks[task];
    if (found === undefined) throw new RangeError(`there are ${this.#tasks.length} tasks, got number ${task}`);
    return found.sample;
  }
}
