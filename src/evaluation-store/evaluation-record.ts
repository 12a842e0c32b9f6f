import type { EvaluationId } from '../kernel/ids.ts';

/**
 * An evaluation is *waiting* from being accepted until an owner begins it, then *running* until it is over: *finished* with its answer,
 * *cancelled* by a caller, or *failed* because the infrastructure gave out. While it is waiting or running it may pass from one owner to
 * another; once it is over nothing of it changes any more.
 */
export const EVALUATION_STATES = ['waiting', 'running', 'finished', 'cancelled', 'failed'] as const;
export type EvaluationState = (typeof EVALUATION_STATES)[number];
export type FinalState = Extract<EvaluationState, 'finished' | 'cancelled' | 'failed'>;

/** An evaluation that a caller asks for. Documents are JSON, which the store does not interpret. No text may contain U+0000. */
export interface NewEvaluation {
  readonly id: EvaluationId;
  /** Who asked. */
  readonly principal: string;
  /** As it was accepted: all that is needed to begin or to resume it. */
  readonly request: object;
  /** Name of the suite. */
  readonly suite: string;
  readonly run?: string | undefined;
  readonly version?: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** A whole number; higher ones come first. */
  readonly priority: number;
}

export interface StoredEvaluation extends Omit<NewEvaluation, 'request'> {
  readonly request: unknown;
  readonly state: EvaluationState;
  readonly createdAt: Date;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
  readonly cancelRequestedAt: Date | undefined;
  /** The latest running figures that its owner reported. */
  readonly running: unknown;
  /** The answer, perhaps a partial one; undefined before the end, and after one that left no answer. */
  readonly summary: unknown;
  readonly failure: EvaluationFailure | undefined;
}

export interface EvaluationFailure {
  /** Whose it is to mend. Undefined in what older versions of Muster have stored. */
  readonly kind?: 'input' | 'infrastructure' | undefined;
  readonly code: string;
  readonly message: string;
}
