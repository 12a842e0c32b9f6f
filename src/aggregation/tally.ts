import type { Outcome } from '../kernel/outcome.ts';
import type { Allocation } from './allocation/allocation.ts';
import { computeBiasReducedMean } from './results/bias-reduced-mean.ts';
import type { Bounds } from './intervals/bounds.ts';
import { computeCertainty } from './results/certainty.ts';
import { Course } from './results/course.ts';
import type { DistributionFigures, DistributionQuestion } from './results/distribution-figures.ts';
import { countFailed, FailureCounts } from './folding/failure-counts.ts';
import { toFigure } from './intervals/figure.ts';
import { MetricResults } from './results/metric-results.ts';
import { Moments } from './intervals/moments.ts';
import { warnOfDependence, SerialDependence } from './folding/serial-dependence.ts';
import type { RunningReturns } from './results/running-returns.ts';
import { ReturnDistribution } from './results/return-distribution.ts';
import type { Certainty, CoursePoint, OfficialStatistics } from './results/statistics.ts';
import type { Score, StoppingRule } from './stopping/stopping-rule.ts';
import { SuccessResults, type SuccessCriterion } from './results/success-results.ts';
import { TaskResults, type WeightedTask } from './results/task-results.ts';
import { UnresolvedEpisodes } from './results/unresolved-episodes.ts';

const AS_PLAYED =
  'Tasks were not drawn by weight (allocation: adaptive): histogram, failures, mean length, metrics and the number of successes are of the episodes as they were played, more of them on tasks whose returns vary more.';

const NO_SPREAD =
  'The returns are so large, or their differences so small, that floating point cannot hold their variance: there is no interval.';

export interface TallyOptions {
  readonly tasks: readonly WeightedTask[];
  /** Names of the metrics to aggregate. */
  readonly metrics: readonly string[];
  readonly bounds: Bounds | undefined;
  readonly success: SuccessCriterion | undefined;
  /** The fold adds to it before it adds to the tally. */
  readonly rule: StoppingRule;
  /** Updated like the rule; undefined when tasks are drawn by weight. */
  readonly allocation: Allocation | undefined;
}

/** Statistics of the folded episodes, without the stopping rule. Its size is constant, except for retained values. */
export class Tally {
  readonly #returns = new Moments();
  readonly #distribution = new ReturnDistribution();
  readonly #lengths = new Moments();
  readonly #dependence = new SerialDependence();
  readonly #tasks: TaskResults;
  readonly #metrics: MetricResults;
  readonly #success: SuccessResults | undefined;
  readonly #bounds: Bounds | undefined;
  readonly #rule: StoppingRule;
  readonly #allocation: Allocation | undefined;
  /** Weights of the tasks, where these are not drawn in proportion to them. */
  readonly #weights: readonly number[] | undefined;
  /** Most points are dropped again, so each is computed only when the course is read. */
  readonly #course = new Course<() => CoursePoint>();
  readonly #failures = new FailureCounts();
  readonly #unresolved = new UnresolvedEpisodes();
  /** Whether the score of an episode differed from its return. */
  #isReweighted = false;

  /** @throws RangeError when there is no task, or a weight that is not positive and finite. */
  constructor({ tasks, metrics, bounds, success, rule, allocation }: TallyOptions) {
    this.#tasks = new TaskResults(tasks, bounds);
    this.#metrics = new MetricResults(metrics);
    this.#success = success && new SuccessResults(success, tasks, allocation !== undefined);
    this.#bounds = bounds;
    this.#rule = rule;
    this.#allocation = allocation;
    this.#weights = allocation && tasks.map(({ weight }) => weight);
  }

  get episodes(): number {
    return this.#returns.count + this.#unresolved.count;
  }

  /** Estimate of the suite's mean, from the resolved episodes. */
  get mean(): number | undefined {
    return this.#allocation === undefined ? this.#returns.mean : this.#allocation.mean;
  }

  /** Adds the next episode, after rule and allocation have added it. @param outcome as judged. @throws RangeError when there is no such task. */
  add(task: number, outcome: Outcome, score: Score): void {
    const { returned = score } = score;
    this.#tasks.add(task, returned);
    if (outcome.kind === 'lost') this.#unresolved.add(score);
    else this.#addResolved(task, outcome, returned.low);
    if (score.low !== returned.low) this.#isReweighted = true;
    this.#course.note(this.episodes, () => this.#point());
  }

  /** Returns the slow part of `computeOfficial` as a question, whose answer is the figures of the returns' distribution. */
  buildQuestion(): DistributionQuestion {
    return this.#distribution.buildQuestion(this.#rule.confidence, this.#hasBca, this.#weights);
  }

  /** @param figures the answer to the question of `buildQuestion` for the same episodes. */
  computeOfficial(endedBy: OfficialStatistics['endedBy'], figures: DistributionFigures): OfficialStatistics {
    const [returns, scores] = [this.#returns, this.#scores];
    const { confidence, targetHalfWidth } = this.#rule;
    const fixed = this.#isFixed();
    return {
      episodes: this.episodes,
      resolved: returns.count,
      unresolved: this.#unresolved.count,
      endedBy,
      mean: toFigure(this.mean),
      biasReducedMean: toFigure(endedBy === 'rule' ? this.#computeBiasReducedMean() : this.mean),
      variance: toFigure(scores.variance),
      standardError: toFigure(scores.standardError),
      min: toFigure(returns.min),
      max: toFigure(returns.max),
      interval: this.#rule.computeInterval() ?? null,
      targetHalfWidth: toFigure(targetHalfWidth),
      worstCase: this.#unresolved.computeWorstCase(scores, this.#bounds) ?? null,
      certainty: this.#assessCertainty() ?? null,
      ...figures,
      success: this.#success?.computeStatistics(this.#unresolved.count, confidence, fixed) ?? null,
      failures: this.#failures.counts,
      failedShare: returns.count === 0 ? null : countFailed(this.#failures.counts) / returns.count,
      meanLength: toFigure(this.#lengths.mean),
      tasks: this.#tasks.listStatistics(fixed ? confidence : undefined),
      metrics: this.#metrics.listStatistics(),
      estimands: {
        thisSuite: this.#tasks.estimateSuite(),
        taskPopulation: this.#weights
          ? this.#tasks.estimateStratifiedPopulation(confidence)
          : this.#tasks.estimateTaskPopulation(returns.mean, confidence),
      },
      course: this.#course.listPoints(this.episodes, () => this.#point()).map((point) => point()),
      warnings: [...this.#rule.listWarnings(), ...this.#listWarnings()],
    };
  }

  /** Returns quick figures of the returns, while episodes are added. */
  getReturns(): RunningReturns {
    const { min, max, count } = this.#returns;
    return {
      resolved: count,
      mean: toFigure(this.mean),
      min: toFigure(min),
      max: toFigure(max),
      interval: this.#rule.computeInterval() ?? null,
      ...this.#distribution.look(),
      failures: this.#failures.counts,
      tasks: this.#tasks.listStatistics(this.#isFixed() ? this.#rule.confidence : undefined),
    };
  }

  /** The values that the mean averages: the returns, or the allocated scores. */
  get #scores(): Moments {
    return this.#allocation?.scores ?? this.#returns;
  }

  /**
   * Whether intervals for a number of episodes fixed in advance are valid. They would promise too much where returns decide the number of episodes,
   * and so stop early on lucky ones, or the number for each task.
   */
  #isFixed(): boolean {
    return this.#rule.targetHalfWidth === undefined && this.#allocation === undefined;
  }

  get #hasBca(): boolean {
    return this.#isFixed() && this.#unresolved.count === 0;
  }

  #addResolved(task: number, outcome: Exclude<Outcome, { kind: 'lost' }>, score: number): void {
    this.#returns.add(score);
    this.#distribution.add(score, task);
    this.#dependence.add(task, score);
    this.#success?.add(task, score);
    this.#failures.add(outcome);
    if (outcome.kind === 'failed') return;
    this.#lengths.add(outcome.length);
    this.#metrics.add(outcome.metrics);
  }

  /** Returns the course's point as of now, computed only when the returned function is called. */
  #point(): () => CoursePoint {
    const { episodes, mean } = this;
    const intervalThen = this.#rule.deferInterval();
    return () => {
      const interval = intervalThen();
      return { episodes, mean: toFigure(mean), low: toFigure(interval?.low), high: toFigure(interval?.high) };
    };
  }

  #computeBiasReducedMean(): number | undefined {
    const mean = computeBiasReducedMean(this.#scores, this.#rule);
    const { low = -Infinity, high = Infinity } = this.#bounds ?? {};
    return mean === undefined ? undefined : Math.min(Math.max(mean, low), high);
  }

  #assessCertainty(): Certainty | undefined {
    const { standardDeviation } = this.#scores;
    const { confidence, targetHalfWidth } = this.#rule;
    if (standardDeviation === undefined || targetHalfWidth === undefined) return undefined;
    return computeCertainty(this.episodes, standardDeviation, targetHalfWidth, confidence);
  }

  #listWarnings(): string[] {
    const { count, isSpreadHeld } = this.#scores;
    return [
      ...(this.#isReweighted ? [AS_PLAYED] : []),
      ...warnOfDependence(this.#dependence, 'returns'),
      ...this.#distribution.listWarnings(this.#hasBca),
      ...(count > 1 && !isSpreadHeld ? [NO_SPREAD] : []),
      ...this.#tasks.listWarnings(),
      ...(this.#success?.listWarnings(this.#isFixed()) ?? []),
    ];
  }
}
