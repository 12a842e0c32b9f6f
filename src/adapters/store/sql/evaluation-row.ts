import { z } from 'zod';
import { EVALUATION_STATES, type StoredEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { parseEvaluationId } from '../../../kernel/ids.ts';
import { readDate, readDocument, readNumber, readOptional, readText } from './schema/columns.ts';
import type { Row } from './schema/database.ts';

const checkedSchema = z.object({
  state: z.enum(EVALUATION_STATES),
  labels: z.record(z.string(), z.string()),
  failure: z.object({ kind: z.enum(['input', 'infrastructure']).optional(), code: z.string(), message: z.string() }).optional(),
});

/** @throws InfrastructureError `store.unreadable` when this version of Muster cannot read the row. */
export function readEvaluationRow(row: Row): StoredEvaluation {
  const id = parseEvaluationId(readText(row, 'id'));
  const checked = checkedSchema.safeParse({
    state: row['state'],
    labels: readDocument(row, 'labels'),
    failure: readOptional(row, 'failure', readDocument),
  });
  if (!checked.success)
    throw new InfrastructureError(
      'store.unreadable',
      `evaluation ${id} has a form that this version of Muster does not know: ${checked.error.message}`,
    );
  const { state, labels, failure } = checked.data;
  return {
    id,
    principal: readText(row, 'principal'),
    request: readDocument(row, 'request'),
    suite: readText(row, 'suite'),
    run: readOptional(row, 'run', readText),
    version: readOptional(row, 'version', readNumber),
    labels,
    priority: readNumber(row, 'priority'),
    state,
    createdAt: readDate(row, 'created_at'),
    startedAt: readOptional(row, 'started_at', readDate),
    endedAt: readOptional(row, 'ended_at', readDate),
    cancelRequestedAt: readOptional(row, 'cancel_requested_at', readDate),
    running: readOptional(row, 'running', readDocument),
    summary: readOptional(row, 'summary', readDocument),
    failure,
  };
}
