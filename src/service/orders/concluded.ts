import type { Conclusion } from '../../evaluation-store/evaluation-course.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { EvaluationOrder } from './evaluation-order.ts';

/** Creates the end of an evaluation, with the webhook that the order requests. */
export function createConclusion(
  evaluation: EvaluationId,
  order: Pick<EvaluationOrder, 'webhook'> | undefined,
  end: Omit<Conclusion, 'webhooks'>,
): Conclusion {
  const { state, summary = null, failure = null } = end;
  const body = { type: 'evaluation.ended', evaluation, state, summary, failure };
  return { ...end, webhooks: order?.webhook ? [{ url: order.webhook.url, body }] : [] };
}
