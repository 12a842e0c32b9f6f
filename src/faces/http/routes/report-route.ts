import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { InputError } from '../../../kernel/errors.ts';
import { comparisonSummarySchema } from '../../../orchestrator/results/comparison-summary.ts';
import { summarySchema } from '../../../orchestrator/results/summary.ts';
import { findReadable } from '../../../service/checkpoints/text-readers.ts';
import type { ReportDocument } from '../../report/document.ts';
import { renderReportPage } from '../../report/page.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { idParamsSchema, textSchema, type EvaluationResource } from '../schemas/evaluation-schemas.ts';
import { toEvaluationResource } from './evaluation-resource.ts';
import type { EvaluationRoutesOptions } from './evaluation-routes.ts';
import { findEvaluation } from '../requests/find-evaluation.ts';
import { withholdText } from './withheld-text.ts';

/** Adds the page that `muster report --html` writes, of an evaluation of the server. */
export function addReportRoute(instance: FastifyInstance, { service, use }: EvaluationRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/evaluations/:id/report',
    {
      schema: {
        summary: 'The answer as an HTML page for people, which stands alone',
        tags: ['evaluations'],
        params: idParamsSchema,
        response: { 200: { description: 'a page', content: { 'text/html': { schema: textSchema } } }, ...PROBLEMS },
      },
    },
    async ({ params, caller }, reply) => {
      const found = await findEvaluation(service, params.id);
      const readable = await findReadable(requireCaller(caller), [found], use);
      const resource = toEvaluationResource(found);
      const document = createDocument(readable.has(found.id) ? resource : withholdText(resource));
      return reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('x-content-type-options', 'nosniff')
        .serializer(String)
        .send(renderReportPage(document));
    },
  );
}

/** @throws InputError `report.none` when there is no answer yet, or none that this version can read. */
function createDocument({ id, kind, summary }: EvaluationResource): ReportDocument {
  const evaluation = kind === 'evaluation' ? summarySchema.safeParse(summary).data : undefined;
  if (evaluation) return { kind: 'evaluation', summary: evaluation };
  const comparison = kind === 'comparison' ? comparisonSummarySchema.safeParse(summary).data : undefined;
  if (comparison) return { kind: 'comparison', comparison };
  const why =
    summary === null || summary === undefined ? 'has no answer; follow it until it ends' : 'was answered by another version of Muster';
  throw new InputError('report.none', `${id} ${why}`);
}
