import type { EvaluationFailure } from '../../evaluation-store/evaluation-record.ts';
import { getMessage, MusterError } from '../../kernel/errors.ts';
import { getPartialComparison } from '../../orchestrator/compare.ts';
import { getPartialSummary } from '../../orchestrator/evaluate.ts';
import type { Answer } from '../orders/player.ts';

/** Whether the store failed, and not the evaluation: such a failure passes, or an operator corrects it. */
export function isStoreFailure(error: unknown): boolean {
  return error instanceof MusterError && error.kind === 'infrastructure' && /^store\.(?!episode-differs|order|content)/.test(error.code);
}

/** Names what kept an evaluation from its end. */
export function describeCause(error: unknown): string {
  if (isStoreFailure(error)) return 'the store failed';
  return error instanceof MusterError ? `the evaluation could not be ended (${error.code})` : 'a defect of Muster';
}

/** Returns the result of the episodes that were played before the error. */
export function getPartialAnswer(error: unknown): Answer | undefined {
  return getPartialSummary(error) ?? getPartialComparison(error);
}

/** Returns the part of the error that a caller receives. */
export function toFailure(error: unknown): EvaluationFailure {
  if (error instanceof MusterError) return { kind: error.kind, code: error.code, message: error.message };
  return { kind: 'infrastructure', code: 'muster.defect', message: `a defect of Muster: ${getMessage(error)}` };
}
