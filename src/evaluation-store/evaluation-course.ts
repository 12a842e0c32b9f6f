import type { Question } from './answer-cache.ts';
import type { NewEvent } from './event-log.ts';
import type { EvaluationFailure, FinalState } from './evaluation-record.ts';
import type { Ownership } from './ownership.ts';
import type { NewWebhook } from './webhook-outbox.ts';

/** How an evaluation proceeds. */
export interface Report {
  /** JSON. Replaces the previous figures. */
  readonly running: object;
  readonly events: readonly NewEvent[];
}

export interface Conclusion {
  readonly state: FinalState;
  /** The last report before the end. */
  readonly report?: Report | undefined;
  /** JSON: the answer, or the part of it that exists. */
  readonly summary?: object | undefined;
  readonly failure?: EvaluationFailure | undefined;
  /** The question that the summary answers, so that later callers get the same answer; left out when the answer may not be shared. */
  readonly question?: Question | undefined;
  /** When it is true, no other evaluation may reuse its episodes: the next evaluation that needs them plays them again. */
  readonly withheld?: boolean | undefined;
  /** Webhooks to deliver from now on. */
  readonly webhooks: readonly NewWebhook[];
}

/**
 * What an owner reports about the evaluation that it plays. A change of state, its event (`state`, with `{ state }`) and its webhooks
 * become durable together or not at all. Each method throws OwnershipLostError.
 */
export interface EvaluationCourse {
  /** Changes the state from waiting to running. An evaluation that is taken over keeps its state. */
  begin(ownership: Ownership): Promise<void>;

  report(ownership: Ownership, report: Report): Promise<void>;

  /** Ends the evaluation, and its ownership. */
  conclude(ownership: Ownership, conclusion: Conclusion): Promise<void>;
}
