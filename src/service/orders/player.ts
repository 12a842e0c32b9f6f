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

/** Plays what was ordered. Orders are whole, so playing one twice, or going on with it elsewhere, gives the same official answer. */
export interface Player {
  /**
   * @returns the answer; a partial one when the signal is aborted first.
   * @throws InputError when the parts of the order do not fit together; RunFailedError, with a partial answer, when the infrastructure gave
   * out; InfrastructureError when nothing could be played.
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
   * What the order asks: playing orders of one question gives the same official answer. Where code runs, each principal has questions of its own.
   *
   * @throws InputError when it cannot be played.
   */
  buildQuestion(order: EvaluationOrder, principal: string): Question;

  /**
   * The answer to an order whose question was answered before, without playing anything.
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
  /** Whose order it is. */
  readonly principal: string;
  /** Where the episodes of an arm are kept. */
  openJournal(arm: number, parts: CacheKeyParts): EpisodeJournal;
  /** What the order may have of the sandboxes of a template. */
  share(template: string): SlotShare;
  /** One is waited for before each longer step. */
  readonly turns: Turns;
  readonly signal: AbortSignal;
  /** Takes in what the journals know, and plays nothing. */
  readonly recallOnly: boolean;
  /** @param look at more of it, at any later time. */
  onProgress(figures: RunningFigures, look: RunLook): void;
}
