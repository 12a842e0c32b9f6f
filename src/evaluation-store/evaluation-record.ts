import type { EvaluationId } from '../kernel/ids.ts';

/**
 * An evaluation is *waiting* from its acceptance until an owner begins it, then *running* until it is over: *finished* with its answer,
 * *cancelled* by a caller, or *failed* because of the infrastructure. While it is waiting or running, it may pass from one owner to
 * another. Once it is over, it never changes.
 */
export const EVALUATION_STATES = ['waiting', 'running', 'finished', 'cancelled', 'failed'] as const;
export type EvaluationState = (typeof EVALUATION_STATES)[number];
export type FinalState = Extract<EvaluationState, 'finished' | 'cancelled' | 'failed'>;

/** An evaluation that a caller asks for. Documents are JSON, which the store does not interpret. No text may contain U+0000. */
export interface NewEvaluation {
  readonly id: EvaluationId;
  readonly principal: string;
  /** The accepted request: enough to begin or resume the evaluation. */
  readonly request: object;
  readonly suite: string;
  readonly run?: string | undefined;
  readonly version?: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** A whole number; higher priorities come first. */
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
  /** The answer, perhaps a partial one; undefined before the end, and when the evaluation ended without one. */
  readonly summary: unknown;
  readonly failure: EvaluationFailure | undefined;
}

export interface EvaluationFailure {
  /** Whether the caller or the operator must correct it. Undefined in records of older versions of Muster. */
  readonly kind?: 'input' | 'infrastructure' | undefined;
  readonly code: string;
  readonly message: string;
}
