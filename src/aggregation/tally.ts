import type { FailureCause, Outcome } from '../kernel/outcome.ts';
import type { Bounds } from './bounds.ts';
import { certainty } from './certainty.ts';
import { Course } from './course.ts';
import { figureOf } from './figure.ts';
import { MetricResults } from './metric-results.ts';
import { Moments } from './moments.ts';
import { ReturnDistribution } from './return-distribution.ts';
import type { Certainty, CoursePoint, OfficialStatistics } from './statistics.ts';
import type { Score, StoppingRule } from './stopping-rule.ts';
import { SuccessResults } from './success-results.ts';
import type { SuccessCriterion } from './success-results.ts';
import { TaskResults } from './task-results.ts';
import type { WeightedTask } from './task-results.ts';
import { worstCase } from './worst-case.ts';

export interface TallyOptions {
  readonly tasks: readonly WeightedTask[];
  /** Names of the metrics to aggregate. */
  readonly metrics: readonly string[];
  readonly bounds: Bounds | undefined;
  readonly success: SuccessCriterion | undefined;
  /** Fed by the fold, before the tally is; asked here. */
  readonly rule: StoppingRule;
}

/** What is known of the folded episodes besides whether they suffice. Constant state, but for the values kept. */
export class Tally {
  readonly #returns = new Moments();
  readonly #distribution = new ReturnDistribution();
  readonly #lengths = new Moments();
  readonly #tasks: TaskResults;
  readonly #metrics: MetricResults;
  readonly #success: SuccessResults | undefined;
  readonly #bounds: Bounds | undefined;
  readonly #rule: StoppingRule;
  readonly #course = new Course<CoursePoint>();
  readonly #failures: Record<FailureCause, number> = {
    timeout: 0,
    'policy-crash': 0,
    'environment-crash': 0,
    'out-of-memory': 0,
    'protocol-violation': 0,
    'invalid-return': 0,
    'out-of-bounds': 0,
  };
  #unresolved = 0;

  /** @throws RangeError when there is no task, or a weight that is not positive and finite. */
  constructor({ tasks, metrics, bounds, success, rule }: TallyOptions) {
    this.#tasks = new TaskResults(tasks, bounds);
    this.#metrics = new MetricResults(metrics);
    this.#success = success && new SuccessResults(success, tasks);
    this.#bounds = bounds;
    this.#rule = rule;
  }

  get episodes(): number {
    return this.#returns.count + this.#unresolved;
  }

  /** Of the return over the resolved episodes. */
  get mean(): number | undefined {
    return this.#returns.mean;
  }

  /** Takes the next episode in, once the rule has. @param outcome as judged. @throws RangeError when there is no such task. */
  add(task: number, outcome: Outcome, score: Score): void {
    this.#tasks.add(task, score);
    if (outcome.kind === 'lost') this.#unresolved += 1;
    else this.#addResolved(task, outcome, score.low);
    this.#course.note(this.episodes, () => this.#point());
  }

  official(endedBy: OfficialStatistics['endedBy']): OfficialStatistics {
    const returns = this.#returns;
    const { confidence, targetHalfWidth } = this.#rule;
    // A rule that looks at the returns stops early on lucky ones, and an interval for a fixed number of episodes would then promise too much.
    const fixed = targetHalfWidth === undefined;
    return {
      episodes: this.episodes,
      resolved: returns.count,
      unresolved: this.#unresolved,
      endedBy,
      mean: figureOf(returns.mean),
      variance: figureOf(returns.variance),
      standardError: figureOf(returns.standardError),
      min: figureOf(returns.min),
      max: figureOf(returns.max),
      interval: this.#rule.interval() ?? null,
      targetHalfWidth: figureOf(targetHalfWidth),
      worstCase: worstCase(returns.mean, returns.count, this.#unresolved, this.#bounds) ?? null,
      certainty: this.#certainty() ?? null,
      ...this.#distribution.figures(confidence, fixed && this.#unresolved === 0),
      success: this.#success?.statistics(this.#unresolved, confidence, fixed) ?? null,
      failures: { ...this.#failures },
      meanLength: figureOf(this.#lengths.mean),
      tasks: this.#tasks.statistics(fixed ? confidence : undefined),
      metrics: this.#metrics.statistics(),
      estimands: { thisSuite: this.#tasks.thisSuite(), taskPopulation: this.#tasks.taskPopulation(returns.mean, confidence) },
      course: this.#course.points(this.episodes, () => this.#point()),
      warnings: [...this.#rule.warnings(), ...this.#warnings(fixed)],
    };
  }

  #addResolved(task: number, outcome: Exclude<Outcome, { kind: 'lost' }>, score: number): void {
    this.#returns.add(score);
    this.#distribution.add(score, task);
    this.#success?.add(task, score);
    if (outcome.kind === 'failed') {
      this.#failures[outcome.cause] += 1;
      return;
    }
    this.#lengths.add(outcome.length);
    this.#metrics.add(outcome.metrics);
  }

  #point(): CoursePoint {
    const interval = this.#rule.interval();
    return { episodes: this.episodes, mean: figureOf(this.#returns.mean), low: figureOf(interval?.low), high: figureOf(interval?.high) };
  }

  #certainty(): Certainty | undefined {
    const { standardDeviation } = this.#returns;
    const { confidence, targetHalfWidth } = this.#rule;
    if (standardDeviation === undefined || targetHalfWidth === undefined) return undefined;
    return certainty(this.episodes, standardDeviation, targetHalfWidth, confidence);
  }

  #warnings(fixed: boolean): string[] {
    const overflow = this.#returns.count > 1 && !Number.isFinite(this.#returns.variance);
    return [
      ...this.#distribution.warnings(fixed && this.#unresolved === 0),
      ...(overflow ? ['The returns are so large that floating point cannot hold their variance.'] : []),
      ...this.#tasks.warnings(),
      ...(this.#success?.warnings() ?? []),
    ];
  }
}
