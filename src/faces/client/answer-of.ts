import { InfrastructureError } from '../../kernel/errors.ts';
import { comparisonSummarySchema, type ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import { summarySchema, type Summary } from '../../orchestrator/results/summary.ts';
import type { EvaluationResource } from '../http/schemas/evaluation-schemas.ts';
import { EvaluationEndedError } from './client-errors.ts';

/** Summaries are passed on as they came: parsing would change the order of their members. */
export function isSummary(summary: unknown): summary is Summary {
  return summarySchema.safeParse(summary).success;
}

export function isComparisonSummary(summary: unknown): summary is ComparisonSummary {
  return comparisonSummarySchema.safeParse(summary).success;
}

/** @throws EvaluationEndedError when it is over without its answer; InfrastructureError `server.answer` when it is not over. */
export function getAnswer(evaluation: EvaluationResource): Summary | ComparisonSummary {
  const { id, state, summary } = evaluation;
  const known = isSummary(summary) || isComparisonSummary(summary) ? summary : undefined;
  switch (state) {
    case 'finished':
      if (known) return known;
      throw new InfrastructureError(
        'server.answer',
        `${id} is finished, and this client does not know the form of its summary; update the client`,
      );
    case 'cancelled':
    case 'failed':
      throw new EvaluationEndedError(evaluation, known);
    case 'waiting':
    case 'running':
      throw new InfrastructureError('server.answer', `${id} is ${state}, although its events have ended`);
  }
}
