import type { FailureCause, Outcome } from '../kernel/outcome.ts';
import type { Bounds } from './bounds.ts';
import { figureOf } from './figure.ts';
import { KeptValues } from './kept-values.ts';
import { MetricResults } from './metric-results.ts';
import { Moments } from './moments.ts';
import type { OfficialStatistics, Quantiles } from './statistics.ts';
import type { Score, StoppingRule } from './stopping-rule.ts';
import { TaskResults } from './task-results.ts';
import type { WeightedTask } from './task-results.ts';

/** What is known of the folded episodes besides whether they suffice. Constant state, but for the values kept for quantiles. */
export class Tally {
  readonly #returns = new Moments();
  readonly #values = new KeptValues();
  readonly #lengths = new Moments();
  readonly #tasks: TaskResults;
  readonly #metrics: MetricResults;
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

  constructor(tasks: readonly WeightedTask[], metrics: readonly string[], bounds: Bounds | undefined) {
    this.#tasks = new TaskResults(tasks, bounds);
    this.#metrics = new MetricResults(metrics);
  }

  get episodes(): number {
    return this.#returns.count + this.#unresolved;
  }

  /** Of the return over the resolved episodes. */
  get mean(): number | undefined {
    return this.#returns.mean;
  }

  /** @param outcome as judged. @throws RangeError when there is no such task. */
  add(task: number, outcome: Outcome, score: Score): void {
    this.#tasks.add(task, score);
    if (outcome.kind === 'lost') {
      this.#unresolved += 1;
      return;
    }
    this.#returns.add(score.low);
    this.#values.add(score.low);
    if (outcome.kind === 'failed') {
      this.#failures[outcome.cause] += 1;
      return;
    }
    this.#lengths.add(outcome.length);
    this.#metrics.add(outcome.metrics);
  }

  official(rule: StoppingRule, endedBy: OfficialStatistics['endedBy']): OfficialStatistics {
    const returns = this.#returns;
    // A rule that looks at the returns stops early on lucky ones, and an interval for a fixed number of episodes would then promise too much.
    const taskConfidence = rule.targetHalfWidth === undefined ? rule.confidence : undefined;
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
      interval: rule.interval() ?? null,
      targetHalfWidth: figureOf(rule.targetHalfWidth),
      quantiles: this.#quantiles(),
      failures: { ...this.#failures },
      meanLength: figureOf(this.#lengths.mean),
      tasks: this.#tasks.statistics(taskConfidence),
      metrics: this.#metrics.statistics(),
      estimands: { thisSuite: this.#tasks.thisSuite() },
      warnings: [...rule.warnings(), ...this.#warnings()],
    };
  }

  #quantiles(): Quantiles | null {
    const [p05, p25, p50, p75, p95] = this.#values.quantiles([0.05, 0.25, 0.5, 0.75, 0.95]) ?? [];
    if (p05 === undefined || p25 === undefined || p50 === undefined || p75 === undefined || p95 === undefined) return null;
    return { of: this.#values.count, p05, p25, p50, p75, p95 };
  }

  #warnings(): string[] {
    const warnings: string[] = [];
    if (this.#values.count < this.#returns.count)
      warnings.push(`Quantiles are of the first ${this.#values.count} resolved episodes; the values of later ones are not kept.`);
    if (this.#returns.count > 1 && !Number.isFinite(this.#returns.variance))
      warnings.push('The returns are so large that floating point cannot hold their variance.');
    return warnings;
  }
}
