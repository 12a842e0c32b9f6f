import type { Outcome } from '../../kernel/outcome.ts';
import { CandidateComparison, type RunningCandidate } from './candidate-comparison.ts';
import { ComparisonBudget, type ComparisonBudgetOptions } from './comparison-budget.ts';
import type { CandidateStatistics, OfficialComparison } from './comparison-statistics.ts';
import { type ComparisonQuestion, type ComparisonTerms, planComparisonTerms } from './comparison-terms.ts';
import { ArmFailures } from './arm-failures.ts';
import { countFailed } from '../folding/failure-counts.ts';
import { assertTask, createDifferentTasksError, type FoldStep, type OfferedEpisode } from '../folding/offered-episode.ts';
import type { WorkOutImprovement } from '../resampling/probability-of-improvement.ts';
import { ReorderBuffer } from '../folding/reorder-buffer.ts';
import type { FailurePolicy } from '../folding/scoring.ts';

export interface PairedFoldOptions extends Omit<ComparisonQuestion, 'candidates' | 'margin'>, ComparisonBudgetOptions {
  /** `unexpected` ends the fold when the first episodes of an arm all fail with the same error; `scored` when left out. */
  readonly failures?: FailurePolicy | undefined;
  /** How many tasks the suite has. */
  readonly tasks: number;
  /** Names of the candidates, at least one. */
  readonly candidates: readonly string[];
  /** Mean differences up to it do not matter; in units of the return, 0 unless given. */
  readonly margin?: number | undefined;
  /** The largest number of indices between the first missing index and an offered one. */
  readonly windowSize: number;
  /** Seed of the bootstraps. */
  readonly seed: number;
}

/**
 * `verdicts`: every candidate has its verdict. `episodes`: the budget or the recorded baseline has no episodes for another index. `failures`: the
 * first episodes of an arm all failed with the same error.
 */
export type ComparisonEnd = 'verdicts' | 'episodes' | 'failures';

export interface RunningComparison {
  /** Indices folded. */
  readonly pairs: number;
  /** Folded, over all arms. */
  readonly episodes: number;
  /** Episodes that are likely still to be played, over all arms. */
  readonly expectedRemaining: number;
  readonly candidates: readonly RunningCandidate[];
}

interface Contender {
  readonly failures: ArmFailures;
  readonly buffer: ReorderBuffer<OfferedEpisode>;
  readonly comparison: CandidateComparison;
}

/**
 * Turns outcomes of several checkpoints, which arrive in any order, into one official comparison that does not depend on the order. Arm 0 is the
 * baseline, arms 1 … C are the candidates.
 *
 * All arms play the same task with the same seeds at an index. Index i is folded as soon as the baseline and every *live* candidate have it. A
 * candidate is live until its verdict; then its further outcomes are surplus, and the others continue without it. The comparison ends when no
 * candidate is live, or when the budget that is left has less than an episode for every arm of the next index. All of this is decided in index order,
 * from folded indices alone.
 */
export class PairedFold {
  readonly #terms: ComparisonTerms;
  readonly #tasks: number;
  readonly #margin: number;
  readonly #budget: ComparisonBudget;
  readonly #seed: number;
  readonly #baseline: ReorderBuffer<OfferedEpisode>;
  readonly #baselineFailures: ArmFailures;
  readonly #contenders: readonly Contender[];
  #live: readonly Contender[];
  #ended: ComparisonEnd | undefined;

  /**
   * @throws InputError when there are no bounds, a failure's score is no possible return, the margin or the confidence is out of its range, or the
   * budget or the recorded baseline is less than one index; RangeError when there is no candidate, or the window is empty.
   */
  constructor({ candidates, margin = 0, windowSize, failures = 'scored', ...options }: PairedFoldOptions) {
    if (candidates.length === 0) throw new RangeError('expected at least one candidate');
    this.#terms = planComparisonTerms({ ...options, margin, candidates: candidates.length });
    this.#budget = new ComparisonBudget(options, candidates.length + 1);
    this.#margin = margin;
    this.#tasks = options.tasks;
    this.#seed = options.seed;
    this.#baseline = new ReorderBuffer(windowSize);
    this.#baselineFailures = new ArmFailures(failures);
    this.#contenders = candidates.map((name) => ({
      failures: new ArmFailures(failures),
      buffer: new ReorderBuffer(windowSize),
      comparison: new CandidateComparison(name, this.#terms),
    }));
    this.#live = this.#contenders;
  }

  /**
   * Adds the final outcome of one episode of one arm; `lost` is final once no retry is left.
   *
   * @param task position of the episode's task in the suite. @throws RangeError when there is no such arm or task, or the index is `windowSize` or
   * more ahead of what the arm has folded; InputError when the arms disagree on an index's task, after which the fold is unusable.
   */
  offer(arm: number, index: number, task: number, outcome: Outcome): FoldStep {
    assertTask(task, this.#tasks);
    const buffer = this.#getBuffer(arm);
    if (buffer.hasSeen(index)) return { kind: 'duplicate' };
    const live = this.isLive(arm);
    buffer.put(index, { task, outcome });
    if (!live) return { kind: 'surplus' };
    const before = this.folded;
    while (this.#ended === undefined && this.#isComplete()) this.#foldNext();
    return this.folded === before ? { kind: 'held' } : { kind: 'folded', indices: this.folded - before };
  }

  /** Length of the folded prefix: the index that is due. */
  get folded(): number {
    return this.#baseline.next;
  }

  /** Counts the episodes of one arm that are part of the result: those of its indices below this. @throws RangeError when there is no such arm. */
  countFolded(arm: number): number {
    return this.#getBuffer(arm).next;
  }

  /** Offered episodes outside of the prefix: waiting for others, or left over. */
  get surplus(): number {
    return this.#contenders.reduce((sum, { buffer }) => sum + buffer.size, this.#baseline.size);
  }

  /** Why the comparison ended; undefined while it goes on. */
  get ended(): ComparisonEnd | undefined {
    return this.#ended;
  }

  /** Whether the arm still needs episodes. @throws RangeError when there is no such arm. */
  isLive(arm: number): boolean {
    const buffer = this.#getBuffer(arm);
    return this.#ended === undefined && (buffer === this.#baseline || this.#live.some((contender) => contender.buffer === buffer));
  }

  /** The first index that is certainly not reached. It is Infinity without a budget and a recorded baseline. */
  get limit(): number {
    return this.folded + (this.#ended === undefined ? this.#budget.boundIndicesLeft(this.#countArmsAtOnce()) : 0);
  }

  /**
   * Estimates the indices that the candidate that needs most still needs, limited by the budget as if none were settled earlier. 0 once ended,
   * otherwise from 1 on; Infinity when no verdict can be expected and there is no limit.
   */
  estimateRemaining(): number {
    return this.#live.reduce((most, { comparison }) => Math.max(most, this.#forecastRemaining(comparison)), 0);
  }

  /** Returns figures of the prefix so far. Takes microseconds: meant for a progress display. */
  getRunning(): RunningComparison {
    const ofCandidates = this.#live.reduce((sum, { comparison }) => sum + this.#forecastRemaining(comparison), 0);
    return {
      pairs: this.folded,
      episodes: this.#budget.episodes,
      expectedRemaining: ofCandidates + (this.#budget.isBaselineRecorded ? 0 : this.estimateRemaining()),
      candidates: this.#contenders.map(({ comparison }) => comparison.getRunning()),
    };
  }

  /** Computes the figures of the prefix so far; final once the comparison has ended. Takes as long as bootstraps over the stored returns. */
  computeOfficial(): OfficialComparison {
    return this.#assembleOfficial(
      this.#contenders.map(({ comparison, failures }) => ({
        ...comparison.computeOfficial(this.#seed, countFailed(failures.counts)),
        failures: failures.counts,
      })),
    );
  }

  /**
   * Does the same as `computeOfficial`, with the slow figures computed by `workOut`. Call it only after the end: an index that is folded meanwhile would be
   * in one half of the figures.
   */
  async computeOfficialBy(workOut: WorkOutImprovement): Promise<OfficialComparison> {
    const candidates = this.#contenders.map(async ({ comparison, failures }) => ({
      ...(await comparison.computeOfficialBy(workOut, this.#seed, countFailed(failures.counts))),
      failures: failures.counts,
    }));
    return this.#assembleOfficial(await Promise.all(candidates));
  }

  #assembleOfficial(candidates: CandidateStatistics[]): OfficialComparison {
    return {
      pairs: this.folded,
      episodes: this.#budget.episodes,
      endedBy: this.#ended ?? null,
      confidence: this.#terms.confidence,
      margin: this.#margin,
      baselineFailures: this.#baselineFailures.counts,
      candidates,
      warnings: this.#listWarnings(),
    };
  }

  /** Counts the episodes that the next index takes. */
  #countArmsAtOnce(): number {
    return 1 + this.#live.length;
  }

  #forecastRemaining(comparison: CandidateComparison): number {
    if (this.#ended !== undefined) return 0;
    return Math.min(comparison.estimateRemaining(), this.#budget.countIndicesLeft(this.#countArmsAtOnce()));
  }

  /** Whether every arm that takes part in the due index has it. */
  #isComplete(): boolean {
    const index = this.folded;
    return this.#baseline.hasSeen(index) && this.#live.every(({ buffer }) => buffer.hasSeen(index));
  }

  #foldNext(): void {
    const index = this.folded;
    const base = takeDue(this.#baseline);
    const baseline = this.#baselineFailures.score(base.outcome, this.#terms);
    for (const { buffer, comparison, failures } of this.#live) {
      const episode = takeDue(buffer);
      if (episode.task !== base.task) throw createDifferentTasksError(index, base.task, episode.task);
      comparison.fold(base.task, baseline, failures.score(episode.outcome, this.#terms));
    }
    this.#budget.spend(this.#countArmsAtOnce());
    const isFailing = this.#baselineFailures.isStartFailing || this.#live.some(({ failures }) => failures.isStartFailing);
    this.#live = this.#live.filter(({ comparison }) => comparison.verdict === undefined);
    if (isFailing) this.#ended = 'failures';
    else if (this.#live.length === 0) this.#ended = 'verdicts';
    else if (this.#budget.countIndicesLeft(this.#countArmsAtOnce()) === 0) this.#ended = 'episodes';
  }

  #getBuffer(arm: number): ReorderBuffer<OfferedEpisode> {
    const buffer = arm === 0 ? this.#baseline : this.#contenders[arm - 1]?.buffer;
    if (buffer === undefined) throw new RangeError(`arm 0 is the baseline, 1 to ${this.#contenders.length} are the candidates; got ${arm}`);
    return buffer;
  }

  #listWarnings(): string[] {
    if (this.#live.length === 0 || !this.#budget.isBaselineSpent) return [];
    return [
      `The recorded baseline ended after ${this.folded} episodes, before every candidate had its verdict; record a longer one, or give the checkpoint of the baseline.`,
    ];
  }
}

function takeDue(buffer: ReorderBuffer<OfferedEpisode>): OfferedEpisode {
  const episode = buffer.take();
  if (episode === undefined) throw new RangeError('expected every arm to have the index that is due');
  return episode;
}
