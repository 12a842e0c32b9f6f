import type { Question } from './answer-cache.ts';
import type { NewEvent } from './event-log.ts';
import type { EvaluationFailure, FinalState } from './evaluation-record.ts';
import type { Ownership } from './ownership.ts';
import type { NewWebhook } from './webhook-outbox.ts';

/** How it goes. */
export interface Report {
  /** Figures in place of the last ones, JSON. */
  readonly running: object;
  readonly events: readonly NewEvent[];
}

export interface Conclusion {
  readonly state: FinalState;
  /** The last one, before the end. */
  readonly report?: Report | undefined;
  /** JSON: the answer, or what there was of it. */
  readonly summary?: object | undefined;
  readonly failure?: EvaluationFailure | undefined;
  /** The question that the summary answers, for callers that ask it again; left out when the answer may not be shared. */
  readonly question?: Question | undefined;
  /** True when its episodes stand in for no other evaluation's: they are played again by the next that asks for them. */
  readonly withheld?: boolean | undefined;
  /** To be made known, from now on. */
  readonly webhooks: readonly NewWebhook[];
}

/**
 * What an owner tells of the evaluation that it plays. A change of state, its event (`state`, with `{ state }`) and its webhooks are
 * durable together or not at all. @throws OwnershipLostError each of them.
 */
export interface EvaluationCourse {
  /** From waiting to running; an evaluation that is taken over goes on as it is. */
  begin(ownership: Ownership): Promise<void>;

  report(ownership: Ownership, report: Report): Promise<void>;

  /** The end of it, and of the ownership. */
  conclude(ownership: Ownership, conclusion: Conclusion): Promise<void>;
}
