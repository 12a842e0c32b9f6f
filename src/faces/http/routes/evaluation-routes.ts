import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { parseEvaluationId } from '../../../kernel/ids.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import type { CheckpointUse } from '../../../service/checkpoints/checkpoint-use.ts';
import { isOver } from '../../../service/orders/is-over.ts';
import { findReadable } from '../../../service/checkpoints/text-readers.ts';
import { requireCaller } from '../requests/caller.ts';
import { toEvaluationItem, toEvaluationResource } from './evaluation-resource.ts';
import { evaluationPageSchema, evaluationSchema, idParamsSchema, listQuerySchema } from '../schemas/evaluation-schemas.ts';
import { type Playing, playingSchema } from '../schemas/playing-schemas.ts';
import { createNotFoundError, findEvaluation } from '../requests/find-evaluation.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { assertPermitted } from '../problems/refusals.ts';
import { withholdText } from './withheld-text.ts';

export interface EvaluationRoutesOptions {
  readonly service: EvaluationService;
  /** Decides who may read what programs printed. */
  readonly use: Pick<CheckpointUse, 'findUsable'>;
}

export function addEvaluationRoutes(instance: FastifyInstance, { service, use }: EvaluationRoutesOptions): void {
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
    async ({ query, caller }) => {
      const { limit, after, state, label, ...filter } = query;
      const separator = label?.indexOf('=') ?? 0;
      const labelled = label === undefined ? {} : { label: { name: label.slice(0, separator), value: label.slice(separator + 1) } };
      const page = await service.list({ ...filter, states: state, ...labelled }, { limit, after });
      const readable = await findReadable(requireCaller(caller), page.items, use);
      const items = page.items.map((item) => (readable.has(item.id) ? toEvaluationItem(item) : withholdText(toEvaluationItem(item))));
      return { items, next: page.next ?? null };
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
    async ({ params, caller }) => {
      const found = await findEvaluation(service, params.id);
      const readable = await findReadable(requireCaller(caller), [found], use);
      return readable.has(found.id) ? toEvaluationResource(found) : withholdText(toEvaluationResource(found));
    },
  );
}

/** Adds the route of what a page shows of a running evaluation, besides its figures. It comes from memory and is not stored. */
export function addPlayingRoute(instance: FastifyInstance, service: Pick<EvaluationService, 'find' | 'lookAt'>): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/evaluations/:id/playing',
    {
      schema: {
        summary: 'How an evaluation is played: its returns so far, and which sandbox has played when',
        tags: ['evaluations'],
        params: idParamsSchema,
        response: { 200: playingSchema, ...PROBLEMS },
      },
    },
    async ({ params }): Promise<Playing> => {
      const { id } = await findEvaluation(service, params.id);
      const look = service.lookAt(id);
      return { returns: look?.getReturns() ?? null, sandboxes: look?.readLanes() ?? null };
    },
  );
}

export function addCancelRoute(instance: FastifyInstance, service: EvaluationService): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.delete(
    '/v1/evaluations/:id',
    {
      schema: {
        summary: 'Cancel an evaluation; the episodes that count by then are kept as a partial summary',
        tags: ['evaluations'],
        params: idParamsSchema,
        response: {
          200: evaluationSchema.describe('it is over, cancelled or by itself'),
          202: evaluationSchema.describe('its owner will end it in a moment'),
          ...PROBLEMS,
        },
      },
    },
    async (request, reply) => {
      const id = parseEvaluationId(request.params.id);
      const { principal } = await findEvaluation(service, id);
      assertPermitted('DELETE /v1/evaluations/{id}', requireCaller(request.caller), principal);
      const evaluation = await service.cancel(id);
      if (!evaluation) throw createNotFoundError(id);
      return reply.code(isOver(evaluation) ? 200 : 202).send(toEvaluationResource(evaluation));
    },
  );
}
