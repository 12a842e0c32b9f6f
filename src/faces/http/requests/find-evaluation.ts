import type { StoredEvaluation } from '../../../evaluation-store/evaluation-record.ts';
import { InputError } from '../../../kernel/errors.ts';
import { parseEvaluationId } from '../../../kernel/ids.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';

/** @throws InputError `evaluation.not-found` */
export async function findEvaluation(service: Pick<EvaluationService, 'find'>, id: string): Promise<StoredEvaluation> {
  const evaluation = await service.find(parseEvaluationId(id));
  if (!evaluation) throw createNotFoundError(id);
  return evaluation;
}

export function createNotFoundError(id: string): InputError {
  return new InputError('evaluation.not-found', `there is no evaluation ${id}; it may have been deleted (server.retentionDays)`);
}
