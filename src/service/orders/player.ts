import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import type { ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import type { RunLook } from '../../orchestrator/facts/progress.ts';
import type { SlotShare } from '../../orchestrator/run/slot-share.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import type { RepeatedRun } from '../../orchestrator/results/repeated-summary.ts';
import type { Question } from '../../evaluation-store/answer-cache.ts';
import type { StoredEpisode } from '../../evaluation-store/episode-log.ts';
import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import type { CacheKeyParts } from '../../evaluation-store/cache-key.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { EvaluationOrder } from './evaluation-order.ts';
import type { RunningFigures } from './running-figures.ts';

export type Answer = Summary | ComparisonSummary;

/** Plays orders. Orders are complete, so playing one twice, or resuming it elsewhere, gives the same official answer. */
export interface Player {
  /**
   * @returns the answer; a partial one when the signal is aborted first. @throws InputError when the parts of the order do not fit together;
   * RunFailedError, with a partial answer, when the infrastructure failed; InfrastructureError when nothing could be played.
   */
  play(order: EvaluationOrder, course: PlayCourse): Promise<Answer>;

  /**
   * Plays one episode of the order again, and records it.
   *
   * @throws InputError `replay.gone` when its checkpoint or its suite's files are gone; InfrastructureError when no sandbox could play it; the
   * signal's reason.
   */
  replay(order: EvaluationOrder, episode: RecordedEpisode, course: ReplayCourse): Promise<ReplayDocument>;

  /**
   * Builds the order's question: orders with the same question have the same official answer. Where code runs, each principal has its own questions.
   *
   * @throws InputError when it cannot be played.
   */
  buildQuestion(order: EvaluationOrder, principal: string): Question;

  /**
   * Builds the answer to an order whose question was answered before, without playing anything.
   *
   * @param given that answer, as it was stored. @returns undefined when it is none that this player gives.
   */
  repeatAnswer(order: EvaluationOrder, given: unknown, run: RepeatedRun): object | undefined;
}

export interface RecordedEpisode {
  /** Position of the checkpoint that played it. */
  readonly arm: number;
  readonly recorded: Pick<StoredEpisode, 'index' | 'task' | 'outcome'>;
}

export type ReplayCourse = Pick<PlayCourse, 'principal' | 'share' | 'turns' | 'signal'>;

export interface PlayCourse {
  /** The order's principal. */
  readonly principal: string;
  /** Opens the journal of an arm's episodes. */
  openJournal(arm: number, parts: CacheKeyParts): EpisodeJournal;
  /** Returns the order's share of a template's sandboxes. */
  share(template: string): SlotShare;
  /** Awaited before each longer step. */
  readonly turns: Turns;
  readonly signal: AbortSignal;
  /** Takes in what the journals know, and plays nothing. */
  readonly recallOnly: boolean;
  /** @param look a closer look, which may be taken at any later time. */
  onProgress(figures: RunningFigures, look: RunLook): void;
}
