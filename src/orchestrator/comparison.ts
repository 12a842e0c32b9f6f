import type { Bounds } from '../aggregation/intervals/bounds.ts';
import type { OfficialComparison } from '../aggregation/comparison/comparison-statistics.ts';
import { PairedFold, type RunningComparison } from '../aggregation/comparison/paired-fold.ts';
import type { WorkOutImprovement } from '../aggregation/resampling/probability-of-improvement.ts';
import { judge } from '../aggregation/folding/scoring.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import { parseEpisodeIndex } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import { Arm, type ArmConfig } from './arm/arm.ts';
import { FailureLog, type LoggedErrors } from './arm/failure-log.ts';
import type { EpisodeSink } from './arm/episode-record.ts';
import type { Goal } from './arm/goal.ts';
import type { RecordedBaseline } from './results/recorded-baseline.ts';
import type { Study, StudyEnd } from './arm/study.ts';
import { getBlockSize } from './suite/play.ts';
import { createEpisodePlanner, type SuiteDefinition } from './suite/suite-definition.ts';

/** The baseline is played in this comparison, or was played before. */
export type Baseline =
  { readonly kind: 'played'; readonly checkpoint: StoredCheckpoint } | ({ readonly kind: 'recorded' } & RecordedBaseline);

export interface ComparisonOptions {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly baseline: Baseline;
  readonly candidates: readonly StoredCheckpoint[];
  readonly confidence: number;
  /** The margin in units of the return. */
  readonly margin: number;
  /** The budget over all arms. */
  readonly budgetEpisodes: number;
  readonly config: ArmConfig;
  /** Gets the episodes of all arms, those of each in index order. */
  readonly sink: EpisodeSink | undefined;
  readonly journal?: ((arm: number) => EpisodeJournal) | undefined;
  readonly maxSandboxes: number;
}

/**
 * Episodes by which an arm may lead the pairs, for each sandbox and one more. Few sandboxes take turns between the arms. Episodes that one arm plays
 * ahead are wasted when a verdict comes first, but each turn costs loading a policy.
 */
const LEAD_PER_SANDBOX = 32;
/** One block that is played, and one that is sent ahead. */
const BLOCKS_LEAD_PER_SANDBOX = 2;

/** Recorded outcomes that are handed to the fold at a time, which bounds its buffer. */
const RECORDED_AHEAD = 1024;

/** Several checkpoints on the same episodes of one suite, each candidate against the baseline, until every verdict is reached. */
export class Comparison implements Study<RunningComparison> {
  readonly arms: readonly Arm[];
  readonly #fold: PairedFold;
  readonly #recorded: RecordedBaseline['outcomes'];
  readonly #bounds: Bounds | undefined;
  #handedOver = 0;

  /** @throws InputError when the suite has no reward bounds, or a term is out of its range. */
  constructor(options: ComparisonOptions) {
    const { suite, baseline, candidates, config } = options;
    this.#bounds = suite.bounds;
    this.#recorded = baseline.kind === 'recorded' ? baseline.outcomes : [];
    this.#fold = new PairedFold({
      bounds: suite.bounds,
      failureScores: suite.failureScores,
      failures: suite.failures,
      tasks: suite.tasks.length,
      candidates: candidates.map(({ digest }) => digest),
      confidence: options.confidence,
      margin: options.margin,
      budgetEpisodes: options.budgetEpisodes,
      ...(baseline.kind === 'recorded' ? { baselineEpisodes: baseline.outcomes.length } : {}),
      windowSize: Math.max(config.window, RECORDED_AHEAD) + getBlockSize(suite.play),
      seed: suite.seed,
    });
    const lead = Math.max(LEAD_PER_SANDBOX, BLOCKS_LEAD_PER_SANDBOX * getBlockSize(suite.play)) * (1 + options.maxSandboxes);
    const plan = createEpisodePlanner(suite);
    const makeArm = (checkpoint: StoredCheckpoint, position: number): Arm =>
      new Arm({ ...options, checkpoint, plan, goal: this.#makeGoal(position, lead), journal: options.journal?.(position) });
    this.arms = [
      ...(baseline.kind === 'played' ? [makeArm(baseline.checkpoint, 0)] : []),
      ...candidates.map((checkpoint, i) => makeArm(checkpoint, i + 1)),
    ];
    this.#handOver();
  }

  get ended(): StudyEnd | undefined {
    return this.#fold.ended;
  }

  /** Waiting recorded outcomes were not played here, so they are not surplus. */
  get surplus(): number {
    return this.#fold.surplus - Math.max(0, this.#handedOver - this.#fold.folded);
  }

  getRunning(): RunningComparison {
    return this.#fold.getRunning();
  }

  /** Call it once no more episodes are offered. @param workOut computes what takes long; by default this thread does. */
  async computeOfficial(workOut?: WorkOutImprovement): Promise<OfficialComparison> {
    return workOut ? this.#fold.computeOfficialBy(workOut) : this.#fold.computeOfficial();
  }

  /** Returns the errors of the failed episodes of one checkpoint, 0 being the baseline. */
  getErrors(checkpoint: number): LoggedErrors {
    const recorded = this.#recorded.length > 0;
    const arm = recorded ? this.arms[checkpoint - 1] : this.arms[checkpoint];
    if (arm) return arm.errors;
    const log = new FailureLog();
    const { folded } = this.#fold;
    this.#recorded.slice(0, folded).forEach(({ outcome }, index) => {
      const judged = judge(outcome, this.#bounds);
      if (judged.kind === 'failed') log.note(parseEpisodeIndex(index), judged, folded);
    });
    return log.readUpTo(folded);
  }

  #makeGoal(arm: number, lead: number): Goal {
    const fold = this.#fold;
    const offer = (index: number, task: number, outcome: Outcome): void => {
      fold.offer(arm, index, task, outcome);
      this.#handOver();
    };
    return {
      get folded() {
        return fold.countFolded(arm);
      },
      get limit() {
        return Math.min(fold.limit, fold.folded + lead);
      },
      get isReached() {
        return !fold.isLive(arm);
      },
      estimateRemaining: () => fold.estimateRemaining(),
      offer,
    };
  }

  /** Hands over recorded outcomes so that the baseline stays ahead of the candidates. */
  #handOver(): void {
    if (this.#fold.ended !== undefined) return;
    const end = Math.min(this.#recorded.length, this.#fold.folded + RECORDED_AHEAD);
    for (; this.#handedOver < end; this.#handedOver += 1) {
      const recorded = this.#recorded[this.#handedOver];
      if (recorded) this.#fold.offer(0, this.#handedOver, recorded.task, recorded.outcome);
    }
  }
}
