import type { Outcome } from '../kernel/outcome.ts';
import type { Allocation } from './allocation/allocation.ts';
import type { Bounds } from './intervals/bounds.ts';
import { computeDistributionFigures, type WorkOut } from './results/distribution-figures.ts';
import { FailingStart } from './folding/failing-start.ts';
import { computeHalfWidth } from './intervals/intervals.ts';
import { assertTask, type FoldStep, type OfferedEpisode } from './folding/offered-episode.ts';
import { ReorderBuffer } from './folding/reorder-buffer.ts';
import { assertFailureScores, judge, computeScore, type FailurePolicy, type FailureScores } from './folding/scoring.ts';
import type { RunningReturns } from './results/running-returns.ts';
import type { OfficialStatistics } from './results/statistics.ts';
import type { StoppingRule } from './stopping/stopping-rule.ts';
import type { SuccessCriterion } from './results/success-results.ts';
import { Tally } from './tally.ts';
import type { WeightedTask } from './results/task-results.ts';

export interface PrefixFoldOptions {
  readonly bounds: Bounds | undefined;
  readonly failureScores: FailureScores;
  /** `unexpected` ends the fold when its first episodes all fail with the same error; `scored` when left out. */
  readonly failures?: FailurePolicy | undefined;
  readonly tasks: readonly WeightedTask[];
  /** Names of the metrics to aggregate. */
  readonly metrics: readonly string[];
  readonly success?: SuccessCriterion | undefined;
  /** The rule with nothing folded yet; only the fold adds to it. */
  readonly rule: StoppingRule;
  /**
   * The allocation that decided the task of every index, with nothing folded yet; undefined when tasks are drawn by weight. Only the fold adds to it.
   */
  readonly allocation?: Allocation | undefined;
  readonly budgetEpisodes?: number | undefined;
  /** The largest number of indices between the first missing index and an offered one. */
  readonly windowSize: number;
}

/** `rule`: the stopping rule is satisfied. `episodes`: the budget is spent. `failures`: the first episodes all failed with the same error. */
export type EndedBy = 'rule' | 'episodes' | 'failures';

export interface RunningStatistics {
  readonly episodes: number;
  readonly mean: number | undefined;
  /** Half-width of the interval, which need not be centred on the mean. */
  readonly halfWidth: number | undefined;
  readonly interval: { readonly low: number; readonly high: number } | undefined;
  readonly target: number | undefined;
  readonly expectedRemaining: number;
}

/**
 * Turns outcomes that arrive in any order into one official result that does not depend on the order.
 *
 * Episodes are folded in index order, one by one, and the fold ends for good at the first prefix 0 … n−1 that satisfies the stopping rule, spends the
 * budget or, where failures are unexpected, has shown that everything fails. If they were folded as they complete, quick episodes would be
 * over-represented whenever the fold stops, and no interval could correct that bias. An early index waits in a buffer of bounded size.
 *
 * Each index draws its task at random, independently of all others and in proportion to the weights. So the returns are independent and identically
 * distributed with mean Σ wₖμₖ, which is what the interval for the mean is about and what `certified` needs. With an allocation the folded prefix
 * decides how later indices draw, and an allocated score has that mean given those before it.
 */
export class PrefixFold {
  readonly #bounds: Bounds | undefined;
  readonly #failureScores: FailureScores;
  readonly #rule: StoppingRule;
  readonly #allocation: Allocation | undefined;
  readonly #budget: number;
  readonly #taskCount: number;
  readonly #buffer: ReorderBuffer<OfferedEpisode>;
  readonly #tally: Tally;
  readonly #failingStart: FailingStart | undefined;
  #ended: EndedBy | undefined;

  /** @throws InputError when a failure's score is no possible return; RangeError when another option is out of its range. */
  constructor({
    bounds,
    failureScores,
    failures = 'scored',
    tasks,
    metrics,
    success,
    rule,
    allocation,
    budgetEpisodes,
    windowSize,
  }: PrefixFoldOptions) {
    assertFailureScores(failureScores, bounds);
    if (budgetEpisodes !== undefined && !(budgetEpisodes >= 1))
      throw new RangeError(`expected a budget of at least 1, got ${budgetEpisodes}`);
    this.#bounds = bounds;
    this.#failureScores = failureScores;
    this.#rule = rule;
    this.#allocation = allocation;
    this.#budget = budgetEpisodes ?? Infinity;
    this.#taskCount = tasks.length;
    this.#buffer = new ReorderBuffer(windowSize);
    this.#failingStart = failures === 'unexpected' ? new FailingStart() : undefined;
    this.#tally = new Tally({ tasks, metrics, bounds, success, rule, allocation });
  }

  /**
   * Adds the final outcome of one episode; `lost` is final once no retry is left. The outcome is checked against the bounds here, so it does not
   * matter whether it was checked before.
   *
   * @param task position of the episode's task in the suite. @throws RangeError when the index is `windowSize` or more ahead of the fold, or there is
   * no such task.
   */
  offer(index: number, task: number, outcome: Outcome): FoldStep {
    assertTask(task, this.#taskCount);
    if (this.#buffer.hasSeen(index)) return { kind: 'duplicate' };
    this.#buffer.put(index, { task, outcome });
    if (this.#ended !== undefined) return { kind: 'surplus' };
    const before = this.folded;
    this.#advance();
    return this.folded === before ? { kind: 'held' } : { kind: 'folded', indices: this.folded - before };
  }

  /** Length of the folded prefix, which is also the first index that is missing. */
  get folded(): number {
    return this.#buffer.next;
  }

  /** Offered episodes outside of the prefix: waiting for an earlier index, or offered after the end. */
  get surplus(): number {
    return this.#buffer.size;
  }

  /** Why the fold ended; undefined while it goes on. */
  get ended(): EndedBy | undefined {
    return this.#ended;
  }

  /** Returns figures of the prefix so far. Takes microseconds: meant for a progress display. */
  getRunning(): RunningStatistics {
    const interval = this.#rule.computeInterval();
    return {
      episodes: this.folded,
      mean: this.#tally.mean,
      halfWidth: interval && computeHalfWidth(interval),
      interval: interval && { low: interval.low, high: interval.high },
      target: this.#rule.targetHalfWidth,
      expectedRemaining: this.#ended === undefined ? Math.min(this.#rule.estimateRemaining(), this.#budget - this.folded) : 0,
    };
  }

  /** Returns of the prefix so far, while it grows. Takes some milliseconds. */
  getReturns(): RunningReturns {
    return this.#tally.getReturns();
  }

  /** Computes the figures of the prefix so far; final once the fold has ended. Sorts and resamples the stored values: up to a second or two. */
  computeOfficial(): OfficialStatistics {
    return this.#tally.computeOfficial(this.#ended ?? null, computeDistributionFigures(this.#tally.buildQuestion()));
  }

  /**
   * Does the same as `computeOfficial`, with the slow figures computed by `workOut`. Call it only after the end: an episode that is folded meanwhile would
   * be in one half of the figures.
   */
  async computeOfficialBy(workOut: WorkOut): Promise<OfficialStatistics> {
    return this.#tally.computeOfficial(this.#ended ?? null, await workOut(this.#tally.buildQuestion()));
  }

  #advance(): void {
    while (this.#ended === undefined) {
      const episode = this.#buffer.take();
      if (episode === undefined) return;
      const outcome = judge(episode.outcome, this.#bounds);
      const returned = computeScore(outcome, this.#failureScores, this.#bounds);
      const score = this.#allocation?.fold(episode.task, returned) ?? returned;
      this.#rule.fold(score);
      this.#tally.add(episode.task, outcome, score);
      this.#failingStart?.fold(outcome);
      if (this.#failingStart?.isFailing) this.#ended = 'failures';
      else if (this.#rule.isSatisfied()) this.#ended = 'rule';
      else if (this.folded >= this.#budget) this.#ended = 'episodes';
    }
  }
}
