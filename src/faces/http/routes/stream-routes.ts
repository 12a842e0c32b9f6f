import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { StoredEvent } from '../../../evaluation-store/event-log.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { CheckpointUse } from '../../../service/checkpoints/checkpoint-use.ts';
import { findReadable } from '../../../service/checkpoints/text-readers.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import { parseOrder } from '../../../service/orders/evaluation-order.ts';
import { isOver } from '../../../service/orders/is-over.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import type { StreamRoom } from '../requests/stream-room.ts';
import { episodesQuerySchema } from '../schemas/episode-schemas.ts';
import { eventsQuerySchema, eventStreamSchema, idParamsSchema, textStreamSchema } from '../schemas/evaluation-schemas.ts';
import { getCheckpointOfArm, streamEpisodeLines } from './episode-stream.ts';
import { sendEvents, toTextStream } from './event-stream.ts';
import { findEvaluation } from '../requests/find-evaluation.ts';

export interface StreamRoutesOptions {
  readonly service: EvaluationService;
  /** Decides who may read what programs printed. */
  readonly use: Pick<CheckpointUse, 'findUsable'>;
  readonly clock: Clock;
  readonly room: StreamRoom;
}

export function addEventRoutes(instance: FastifyInstance, { service, clock, room }: StreamRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/evaluations/:id/events',
    {
      schema: {
        summary: 'Follow an evaluation: state, progress, verdict, as server-sent events until it is over',
        tags: ['evaluations'],
        params: idParamsSchema,
        querystring: eventsQuerySchema,
        headers: z.looseObject({
          'last-event-id': z
            .string()
            .regex(/^\d{1,15}$/, 'expected the id of an event')
            .optional(),
        }),
        response: {
          200: { description: 'events', content: { 'text/event-stream': { schema: eventStreamSchema } } },
          204: z.undefined().describe('it is over, and the last event was seen'),
          ...PROBLEMS,
        },
      },
    },
    async (request, reply) => {
      const evaluation = await findEvaluation(service, request.params.id);
      const after = Number(request.headers['last-event-id'] ?? request.query.after ?? 0);
      // Browsers reconnect when a stream ends, unless its last event says that there is no more.
      if (isOver(evaluation) && (await service.hasNoMore(evaluation.id, after))) return reply.code(204).send(undefined);
      room.take(requireCaller(request.caller).principal, reply);
      const events = service.follow(evaluation.id, after, createGoneSignal(reply));
      return sendEvents(reply, streamFrames(events), clock);
    },
  );
}

export function addEpisodeRoutes(instance: FastifyInstance, { service, use, room }: StreamRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/evaluations/:id/episodes',
    {
      schema: {
        summary: 'Episodes that were settled so far, one a line, by index',
        tags: ['evaluations'],
        params: idParamsSchema,
        querystring: episodesQuerySchema,
        response: { 200: { description: 'episodes', content: { 'application/x-ndjson': { schema: textStreamSchema } } }, ...PROBLEMS },
      },
    },
    async ({ params, query, caller }, reply) => {
      const evaluation = await findEvaluation(service, params.id);
      const order = parseOrder(evaluation);
      if (getCheckpointOfArm(order, query.arm) === undefined)
        throw new InputError('arm.not-found', `query.arm: ${evaluation.id} has no arm ${query.arm}`);
      const readable = await findReadable(requireCaller(caller), [evaluation], use);
      room.take(requireCaller(caller).principal, reply);
      const { arm, from, ranking, limit } = query;
      const episodes =
        ranking === undefined
          ? take(service.episodes(evaluation.id, arm, from), limit ?? Infinity)
          : toStream(await service.rankEpisodes(evaluation.id, arm, ranking, { from, limit: Math.min(limit ?? MOST_RANKED, MOST_RANKED) }));
      return reply
        .header('content-type', 'application/x-ndjson; charset=utf-8')
        .send(toTextStream(streamEpisodeLines(episodes, order, { arm: query.arm, withText: readable.has(evaluation.id) })));
    },
  );
}

/** The largest number of episodes of a ranking in one answer: each answer sorts all of its episodes. */
const MOST_RANKED = 1000;

async function* toStream<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}

async function* take<Item>(items: AsyncIterable<Item>, most: number): AsyncGenerator<Item> {
  let left = most;
  for await (const item of items) {
    yield item;
    left -= 1;
    if (left <= 0) return;
  }
}

/** JSON contains no line breaks, so it is one line of data. */
async function* streamFrames(events: AsyncIterable<StoredEvent>): AsyncGenerator<string> {
  for await (const { sequence, type, data, at } of events)
    yield `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, type, at: at.toISOString(), data })}\n\n`;
}
