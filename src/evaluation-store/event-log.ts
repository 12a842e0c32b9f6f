import type { EvaluationId } from '../kernel/ids.ts';

export interface NewEvent {
  /** The type `state` is reserved for the store. */
  readonly type: string;
  /** JSON. */
  readonly data: object;
}

export interface StoredEvent {
  /** 1, 2, … within its evaluation, without a gap. */
  readonly sequence: number;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
}

/** The events of an evaluation, for clients that follow it or reconnect. */
export interface EventLog {
  /** Returns the events after one. Once a reader has seen an event, no new one appears before it. @param sequence 0 for all. */
  readAfter(evaluation: EvaluationId, sequence: number, limit: number): Promise<readonly StoredEvent[]>;
}
