import type { Digest } from '../kernel/ids.ts';
import type { Acceptance, Idempotency } from './evaluation-catalogue.ts';
import type { NewWebhook } from './webhook-outbox.ts';
import type { NewEvaluation } from './evaluation-record.ts';

/** Names all that decides an answer: who asks the same is answered the same. */
export type Question = Digest;

/** An answer that is stored. */
export interface GivenAnswer {
  /** Of the evaluation that it is the answer of: what the store knows that one by. */
  readonly key: number;
  /** JSON. */
  readonly summary: unknown;
}

/** The same answer for another evaluation. */
export interface RepeatedAnswer {
  readonly given: GivenAnswer;
  /** JSON. */
  readonly summary: object;
  /** To be made known, from now on. */
  readonly webhooks: readonly NewWebhook[];
}

/** Answers to questions that were asked before. */
export interface AnswerCache {
  /** The one that was concluded last, as long as it is kept. */
  findAnswer(question: Question): Promise<GivenAnswer | undefined>;

  /**
   * Accepts an evaluation that has its answer already: it begins and is finished in the same moment, with all of the other's episodes as its own,
   * so that it stays whole when the other is forgotten. Durable once it resolves, all of it or nothing.
   *
   * @returns undefined, and nothing is accepted, when the other has been forgotten meanwhile.
   */
  repeat(evaluation: NewEvaluation, answer: RepeatedAnswer, idempotency?: Idempotency): Promise<Acceptance | undefined>;
}
