import { z } from 'zod';
import { EVALUATION_STATES, type StoredEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { parseEvaluationId } from '../../../kernel/ids.ts';
import { dateOf, documentOf, numberOf, optional, textOf } from './schema/columns.ts';
import type { Row } from './schema/database.ts';

const checkedSchema = z.object({
  state: z.enum(EVALUATION_STATES),
  labels: z.record(z.string(), z.string()),
  failure: z.object({ kind: z.enum(['input', 'infrastructure']).optional(), code: z.string(), message: z.string() }).optional(),
});

/** @throws InfrastructureError `store.unreadable` when the row is none of this Muster's. */
export function evaluationOfRow(row: Row): StoredEvaluation {
  const id = parseEvaluationId(textOf(row, 'id'));
  const checked = checkedSchema.safeParse({
    state: row['state'],
    labels: documentOf(row, 'labels'),
    failure: optional(row, 'failure', documentOf),
  });
  if (!checked.success)
    throw new InfrastructureError(
      'store.unreadable',
      `evaluation ${id} is stored in a way that this Muster does not know: ${checked.error.message}`,
    );
  const { state, labels, failure } = checked.data;
  return {
    id,
    principal: textOf(row, 'principal'),
    request: documentOf(row, 'request'),
    suite: textOf(row, 'suite'),
    run: optional(row, 'run', textOf),
    version: optional(row, 'version', numberOf),
    labels,
    priority: numberOf(row, 'priority'),
    state,
    createdAt: dateOf(row, 'created_at'),
    startedAt: optional(row, 'started_at', dateOf),
    endedAt: optional(row, 'ended_at', dateOf),
    cancelRequestedAt: optional(row, 'cancel_requested_at', dateOf),
    running: optional(row, 'running', documentOf),
    summary: optional(row, 'summary', documentOf),
    failure,
  };
}
