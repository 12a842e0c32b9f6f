import type { Conclusion } from '../evaluation-store/evaluation-course.ts';
import type { EvaluationId } from '../kernel/ids.ts';

/** What a webhook says of an evaluation that is over. */
export function concludedBody(evaluation: EvaluationId, { state, summary, failure }: Omit<Conclusion, 'webhooks'>): object {
  return { type: 'evaluation.ended', evaluation, state, summary: summary ?? null, failure: failure ?? null };
}
