import type { EvaluationId } from '../kernel/ids.ts';

export interface NewEvent {
  /** `state` is the store's own. */
  readonly type: string;
  /** JSON. */
  readonly data: object;
}

export interface StoredEvent {
  /** 1, 2, … of its evaluation, without a gap. */
  readonly sequence: number;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
}

/** The events of an evaluation, for clients that follow it or reconnect. */
export interface EventLog {
  /** A reader that has seen an event never finds a new one before it. @param sequence 0 for all. */
  readAfter(evaluation: EvaluationId, sequence: number, limit: number): Promise<readonly StoredEvent[]>;
}
