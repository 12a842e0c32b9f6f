import type { Digest } from '../kernel/ids.ts';
import type { Acceptance, Idempotency } from './evaluation-catalogue.ts';
import type { NewWebhook } from './webhook-outbox.ts';
import type { NewEvaluation } from './evaluation-record.ts';

/** Digest of everything that decides an answer: equal questions have equal answers. */
export type Question = Digest;

export interface GivenAnswer {
  /** The store's key of the evaluation that the answer belongs to. */
  readonly key: number;
  /** JSON. */
  readonly summary: unknown;
}

/** An answer that is repeated for another evaluation. */
export interface RepeatedAnswer {
  readonly given: GivenAnswer;
  /** JSON. */
  readonly summary: object;
  /** Webhooks to deliver from now on. */
  readonly webhooks: readonly NewWebhook[];
}

/** Answers to earlier questions. */
export interface AnswerCache {
  /** Finds the latest answer to the question, while it is stored. */
  findAnswer(question: Question): Promise<GivenAnswer | undefined>;

  /**
   * Accepts an evaluation whose answer exists already. It begins and finishes in the same moment and gets copies of all episodes and of
   * the latest figures, so it stays complete when the other evaluation is forgotten. Durable once it resolves, all of it or nothing.
   *
   * @returns undefined, and accepts nothing, when the other evaluation has been forgotten meanwhile.
   */
  repeat(evaluation: NewEvaluation, answer: RepeatedAnswer, idempotency?: Idempotency): Promise<Acceptance | undefined>;
}
