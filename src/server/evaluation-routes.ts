import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { parseEvaluationId } from '../kernel/ids.ts';
import type { EvaluationService } from '../service/evaluation-service.ts';
import { isOver } from '../service/is-over.ts';
import { identified } from './caller.ts';
import { evaluationItem, evaluationResource } from './evaluation-resource.ts';
import { evaluationPageSchema, evaluationSchema, idParamsSchema, listQuerySchema } from './evaluation-schemas.ts';
import { evaluationNotFound, foundEvaluation } from './found-evaluation.ts';
import { PROBLEMS } from './problem-responses.ts';
import { assertPermitted } from './refusals.ts';

/** Looking at evaluations and comparisons. */
export function evaluationRoutes(instance: FastifyInstance, service: EvaluationService): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/evaluations',
    {
      schema: {
        summary: 'List evaluations and comparisons',
        tags: ['evaluations'],
        querystring: listQuerySchema,
        response: { 200: evaluationPageSchema, ...PROBLEMS },
      },
    },
    async ({ query }) => {
      const { limit, after, state, label, ...filter } = query;
      const separator = label?.indexOf('=') ?? 0;
      const labelled = label === undefined ? {} : { label: { name: label.slice(0, separator), value: label.slice(separator + 1) } };
      const page = await service.list({ ...filter, states: state, ...labelled }, { limit, after });
      return { items: page.items.map(evaluationItem), next: page.next ?? null };
    },
  );
  app.get(
    '/v1/evaluations/:id',
    {
      schema: {
        summary: 'One evaluation, with its running figures or its summary',
        tags: ['evaluations'],
        params: idParamsSchema,
        response: { 200: evaluationSchema, ...PROBLEMS },
      },
    },
    async ({ params }) => evaluationResource(await foundEvaluation(service, params.id)),
  );
}

/** Calling evaluations off. */
export function cancelRoute(instance: FastifyInstance, service: EvaluationService): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.delete(
    '/v1/evaluations/:id',
    {
      schema: {
        summary: 'Cancel an evaluation; what was folded is kept, labelled partial',
        tags: ['evaluations'],
        params: idParamsSchema,
        response: {
          200: evaluationSchema.describe('it is over, cancelled or by itself'),
          202: evaluationSchema.describe('whoever plays it will end it in a moment'),
          ...PROBLEMS,
        },
      },
    },
    async (request, reply) => {
      const id = parseEvaluationId(request.params.id);
      const { principal } = await foundEvaluation(service, id);
      assertPermitted('DELETE /v1/evaluations/{id}', identified(request.caller), principal);
      const evaluation = await service.cancel(id);
      if (!evaluation) throw evaluationNotFound(id);
      return reply.code(isOver(evaluation) ? 200 : 202).send(evaluationResource(evaluation));
    },
  );
}
