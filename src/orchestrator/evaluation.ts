import { Allocation } from '../aggregation/allocation/allocation.ts';
import type { WorkOut } from '../aggregation/results/distribution-figures.ts';
import { PrefixFold, type RunningStatistics } from '../aggregation/prefix-fold.ts';
import type { RunningReturns } from '../aggregation/results/running-returns.ts';
import type { OfficialStatistics } from '../aggregation/results/statistics.ts';
import type { StoppingRule } from '../aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../aggregation/stopping/stopping.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import { Arm, type ArmConfig } from './arm/arm.ts';
import type { EpisodeSink } from './arm/episode-record.ts';
import type { Goal } from './arm/goal.ts';
import type { Study, StudyEnd } from './arm/study.ts';
import { getBlockSize } from './suite/play.ts';
import { createEpisodePlanner, type SuiteDefinition } from './suite/suite-definition.ts';

export interface EvaluationOptions {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  readonly config: ArmConfig;
  readonly sink: EpisodeSink | undefined;
  readonly journal?: EpisodeJournal | undefined;
}

/** The returns are summarised anew once the number of episodes has grown by this share. A smaller growth changes nothing visible. */
const SEEN_GROWTH = 1 / 64;

/** One checkpoint on one suite until its stopping rule is satisfied. */
export class Evaluation implements Study<RunningStatistics>, Goal {
  readonly arms: readonly [Arm];
  readonly #suite: SuiteDefinition;
  readonly #rule: StoppingRule;
  readonly #allocation: Allocation | undefined;
  readonly #fold: PrefixFold;
  #returns: { readonly folded: number; readonly returns: RunningReturns } | undefined;

  constructor({ suite, suiteFiles, checkpoint, config, sink, journal }: EvaluationOptions) {
    this.#suite = suite;
    this.#rule = createStoppingRule(suite.stop, suite.bounds);
    const allocation = createAllocation(suite);
    this.#allocation = allocation;
    this.#fold = new PrefixFold({
      bounds: suite.bounds,
      failureScores: suite.failureScores,
      failures: suite.failures,
      tasks: suite.tasks,
      metrics: suite.metrics,
      success: suite.success,
      rule: this.#rule,
      allocation,
      budgetEpisodes: suite.budget.episodes,
      windowSize: config.window + getBlockSize(suite.play),
    });
    const plan = createEpisodePlanner(suite, allocation && ((index, draw) => allocation.pickTask(index, draw)));
    this.arms = [new Arm({ suite, suiteFiles, checkpoint, goal: this, plan, config, sink, journal })];
  }

  get folded(): number {
    return this.#fold.folded;
  }

  get limit(): number {
    const { stop, budget } = this.#suite;
    const needed = stop.rule === 'fixed' ? stop.episodes : Number.POSITIVE_INFINITY;
    const decided = this.#allocation?.decidedUpTo ?? Number.POSITIVE_INFINITY;
    return Math.min(needed, budget.episodes ?? Number.POSITIVE_INFINITY, decided);
  }

  get isReached(): boolean {
    return this.#fold.ended !== undefined;
  }

  get ended(): StudyEnd | undefined {
    return this.#fold.ended;
  }

  get surplus(): number {
    return this.#fold.surplus;
  }

  estimateRemaining(): number {
    return this.#rule.estimateRemaining();
  }

  offer(index: number, task: number, outcome: Outcome): void {
    this.#fold.offer(index, task, outcome);
  }

  getRunning(): RunningStatistics {
    return this.#fold.getRunning();
  }

  getReturns(): RunningReturns {
    const known = this.#returns;
    if (known && this.folded < (1 + SEEN_GROWTH) * known.folded) return known.returns;
    const returns = this.#fold.getReturns();
    this.#returns = { folded: this.folded, returns };
    return returns;
  }

  /** Call it once no more episodes are offered. @param workOut computes what takes long; by default this thread does. */
  async computeOfficial(workOut?: WorkOut): Promise<OfficialStatistics> {
    return workOut ? this.#fold.computeOfficialBy(workOut) : this.#fold.computeOfficial();
  }
}

/** Returns undefined when tasks are drawn by weight. */
function createAllocation({ allocation, tasks, bounds, stop, play }: SuiteDefinition): Allocation | undefined {
  if (allocation === 'proportional') return undefined;
  const halfWidth = stop.rule === 'certified' ? stop.halfWidth : undefined;
  return new Allocation({ weights: tasks.map(({ weight }) => weight), bounds, halfWidth, playedTogether: getBlockSize(play) });
}
