import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import type { NewEpisode } from '../../evaluation-store/episode-log.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import { Dispatcher, type DispatchConfig, type DispatchView } from './dispatcher.ts';
import type { EpisodeSink } from './episode-record.ts';
import { FailureLog, type LoggedErrors } from './failure-log.ts';
import type { Goal } from './goal.ts';
import { HeldEpisodes } from './held-episodes.ts';
import { getBlockSize } from '../suite/play.ts';
import { ArmRecall, type RecalledEpisode } from './arm-recall.ts';
import { RepeatedPlays } from './repeated-plays.ts';
import { Settling, type SettledEpisode } from './settling.ts';
import { toFoldedOutcome } from './without-detail.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';

/** Fewest episodes that dispatch runs ahead of the fold, however soon the goal may be reached. */
const LEAST_AHEAD = 8;

/** A runner shares its sandbox with untrusted code, which may print much. */
const MOST_REMARKS = 16;

export interface ArmConfig extends DispatchConfig {
  /** The largest number of episodes ahead of the fold, up to the end of a block: bounds memory, and the episodes that a stop leaves unused. */
  readonly window: number;
}

export interface ArmOptions {
  readonly suite: SuiteDefinition;
  /** The suite's own modules in the store, if it ships any. */
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  readonly goal: Goal;
  /** Returns the episode of an index below the goal's limit. */
  readonly plan: (index: number) => PlannedEpisode;
  readonly config: ArmConfig;
  readonly sink?: EpisodeSink | undefined;
  /** Episodes count once they are in the journal, and those in it are not played. */
  readonly journal?: EpisodeJournal | undefined;
}

/**
 * The episodes of one checkpoint in a study: which are dispatched, which have returned, and what is stored of them. The goal decides what
 * they mean. An `EpisodeRun` drives it; everything here is synchronous and in memory.
 */
export class Arm {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  /** Set once a runner has accepted the checkpoint: a later refusal is then a problem of that runner. */
  wasLoaded = false;
  readonly #goal: Goal;
  readonly #window: number;
  readonly #blockSize: number;
  readonly #dispatcher: Dispatcher;
  readonly #held: HeldEpisodes | undefined;
  readonly #journal: EpisodeJournal | undefined;
  readonly #recall: ArmRecall | undefined;
  readonly #repeated = new RepeatedPlays();
  readonly #settling: Settling;
  readonly #remarks = new Set<string>();
  readonly #failures = new FailureLog();

  constructor({ suite, suiteFiles, checkpoint, goal, plan, config, sink, journal }: ArmOptions) {
    this.suite = suite;
    this.suiteFiles = suiteFiles;
    this.checkpoint = checkpoint;
    this.#goal = goal;
    this.#window = config.window;
    this.#blockSize = getBlockSize(suite.play);
    this.#dispatcher = new Dispatcher(plan, config, this.#blockSize);
    this.#settling = new Settling(this.#dispatcher, this.#repeated, this.#blockSize, suite.bounds);
    this.#held = sink && new HeldEpisodes(suite, checkpoint.digest, sink);
    this.#journal = journal;
    this.#recall = journal && new ArmRecall(journal, this.#dispatcher, this.#repeated, (known) => this.#countKnown(known));
  }

  /** Whether it needs no more episodes. */
  get isOver(): boolean {
    return this.#goal.isReached;
  }

  get dispatcher(): Pick<Dispatcher, 'retried' | 'duplicated' | 'inFlight'> {
    return this.#dispatcher;
  }

  /** Indices of which two plays had different outcomes: their results are not reproducible. */
  get differing(): readonly EpisodeIndex[] {
    return this.#repeated.differing;
  }

  /** Episodes that failed together with others of their block, for one cause. */
  get sharedFailures(): number {
    return this.#settling.sharedFailures;
  }

  /** Adds a runner's remarks on what it loaded or played. */
  addRemarks(remarks: readonly string[]): void {
    for (const remark of remarks) if (this.#remarks.size < MOST_REMARKS) this.#remarks.add(remark);
  }

  /** Remarks of runners on what they loaded and played, each once. */
  get remarks(): readonly string[] {
    return [...this.#remarks];
  }

  /** Errors of the failed episodes that are part of the result so far. */
  get errors(): LoggedErrors {
    return this.#failures.readUpTo(this.#goal.folded);
  }

  /** Whether anything is stored of an episode beyond what counts. */
  get isKept(): boolean {
    return this.#held !== undefined || this.#journal !== undefined;
  }

  /** Counts the blocks of episodes that could be dispatched now. Without batching each episode is a block. */
  countAvailable(sandboxes: number): number {
    return this.isOver ? 0 : this.#dispatcher.countAvailable(this.#computeHorizon(sandboxes));
  }

  /** Takes the next range for a runner; empty when it has no work now. */
  take(now: number, sandboxes: number, outstanding: DispatchView['outstanding'], capacity: number): readonly PlannedEpisode[] {
    if (this.isOver) return [];
    return this.#dispatcher.take({ now, horizon: this.#computeHorizon(sandboxes), sandboxes, outstanding, capacity });
  }

  /** Takes a second copy of a straggler. */
  takeStraggler(now: number): readonly PlannedEpisode[] {
    return this.isOver ? [] : this.#dispatcher.takeStraggler(now);
  }

  nextStragglerAt(): number | undefined {
    return this.isOver ? undefined : this.#dispatcher.nextStragglerAt();
  }

  giveBack(episodes: readonly PlannedEpisode[]): void {
    this.#dispatcher.giveBack(episodes);
  }

  /** Whether all needed episodes that the journal knows have been added. */
  get isRecalled(): boolean {
    return this.#recall?.isOver ?? true;
  }

  /** Episodes that were taken from the journal; undefined without one. */
  get recalled(): number | undefined {
    return this.#recall?.count;
  }

  /**
   * Adds the outcomes that the journal knows of episodes that could be dispatched now. When it knows more, the fold has to advance first.
   *
   * @returns whether anything was done.
   */
  async recall(sandboxes: number, signal: AbortSignal): Promise<boolean> {
    const isWanted = (): boolean => !this.isOver && !signal.aborted;
    const isMore = (await this.#recall?.recallUpTo(() => this.#findFirstUnneeded(sandboxes), isWanted)) ?? false;
    await this.#held?.emit(this.#goal.folded);
    return isMore;
  }

  /**
   * Adds results.
   *
   * @returns a promise when the journal or the episode sink asks to wait: with a journal, results count only after that. @throws
   * InfrastructureError `checkpoint.mismatch` when an episode was played with another checkpoint: none of them counts.
   */
  record(played: readonly PlayedEpisode[]): Promise<void> | undefined {
    for (const episode of played) this.#assertPlayedWithIt(episode);
    if (this.#journal) return this.#recordIn(this.#journal, played);
    for (const episode of played) for (const settled of this.#settling.settle(episode)) this.#count(settled);
    return this.#held?.emit(this.#goal.folded);
  }

  /** Writes the surplus episodes to the sink, once the study is over. */
  async finish(): Promise<void> {
    await this.#held?.emit(this.#goal.folded);
    await this.#held?.finish();
  }

  #computeHorizon(sandboxes: number): number {
    return this.isRecalled ? this.#findFirstUnneeded(sandboxes) : this.#dispatcher.next;
  }

  /** Finds the first index that is not needed, now or ever, and begins a block: a block that is needed in part is played whole. */
  #findFirstUnneeded(sandboxes: number): number {
    const { folded, limit } = this.#goal;
    const needed = Math.max(this.#goal.estimateRemaining(), LEAST_AHEAD, Math.ceil(sandboxes / 4));
    return this.#blockSize * Math.ceil(Math.min(folded + Math.min(needed, this.#window), limit) / this.#blockSize);
  }

  async #recordIn(journal: EpisodeJournal, played: readonly PlayedEpisode[]): Promise<void> {
    const settled = played.flatMap((episode) => this.#settling.settle(episode));
    if (settled.length > 0) await journal.append(settled.map(toStoredEpisode));
    for (const episode of settled) this.#count(episode);
    await this.#held?.emit(this.#goal.folded);
  }

  #assertPlayedWithIt({ index, checkpoint }: PlayedEpisode): void {
    const { digest } = this.checkpoint;
    if (checkpoint === digest) return;
    const remedy = 'the run ends, so that no result mixes two; please report this';
    throw new InfrastructureError('checkpoint.mismatch', `episode ${index} was played with ${checkpoint}, expected ${digest}; ${remedy}`);
  }

  #countKnown({ stored, planned }: RecalledEpisode): void {
    this.#count({ played: { ...stored, checkpoint: this.checkpoint.digest, killed: false }, planned, outcome: stored.outcome });
  }

  #count({ played, planned, outcome }: SettledEpisode): void {
    this.#held?.add(played, planned, outcome);
    if (played.remarks) this.addRemarks(played.remarks);
    if (outcome.kind === 'failed') this.#failures.note(played.index, outcome, this.#goal.folded);
    this.#goal.offer(played.index, planned.task, toFoldedOutcome(played.index, outcome));
  }
}

function toStoredEpisode({ played, planned, outcome }: SettledEpisode): NewEpisode {
  const { index, seconds, log, usage, transcript } = played;
  const observed = { ...(log === undefined ? {} : { log }), ...(usage && { usage }), ...(transcript && { transcript }) };
  return { index, task: planned.task, outcome, seconds, ...observed };
}
