import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { StoredEvent } from '../../../evaluation-store/event-log.ts';
import { type Clock, sleep } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { CheckpointUse } from '../../../service/checkpoints/checkpoint-use.ts';
import { readableTo } from '../../../service/checkpoints/text-readers.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import { orderOf } from '../../../service/orders/evaluation-order.ts';
import { isOver } from '../../../service/orders/is-over.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import type { StreamRoom } from '../requests/stream-room.ts';
import {
  episodesQuerySchema,
  eventsQuerySchema,
  eventStreamSchema,
  idParamsSchema,
  textStreamSchema,
} from '../schemas/evaluation-schemas.ts';
import { checkpointOfArm, episodeStream } from './episode-stream.ts';
import { findEvaluation } from './found-evaluation.ts';

export interface StreamRoutesOptions {
  readonly service: EvaluationService;
  /** Decides who may read what programs printed. */
  readonly use: Pick<CheckpointUse, 'usable'>;
  readonly clock: Clock;
  readonly room: StreamRoom;
}

/** Following an evaluation. */
export function eventRoutes(instance: FastifyInstance, { service, clock, room }: StreamRoutesOptions): void {
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
      // Browsers come back when a stream ends, unless they are told that there is no more.
      if (isOver(evaluation) && (await service.hasNoMore(evaluation.id, after))) return reply.code(204).send(undefined);
      room.take(requireCaller(request.caller).principal, reply);
      const events = service.follow(evaluation.id, after, createGoneSignal(reply));
      return (
        reply
          .header('content-type', 'text/event-stream; charset=utf-8')
          .header('cache-control', 'no-store')
          // It is the connection's only use; kept alive it would hold up the server's end.
          .header('connection', 'close')
          .header('x-accel-buffering', 'no')
          .send(textStream(eventStream(events, clock)))
      );
    },
  );
}

/** Reading the episodes of an evaluation. */
export function episodeRoutes(instance: FastifyInstance, { service, use, room }: StreamRoutesOptions): void {
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
      const order = orderOf(evaluation);
      if (checkpointOfArm(order, query.arm) === undefined)
        throw new InputError('arm.not-found', `query.arm: ${evaluation.id} has no arm ${query.arm}`);
      const readable = await readableTo(requireCaller(caller), [evaluation], use);
      room.take(requireCaller(caller).principal, reply);
      const episodes = service.episodes(evaluation.id, query.arm, query.from);
      return reply
        .header('content-type', 'application/x-ndjson; charset=utf-8')
        .send(textStream(episodeStream(episodes, order, { arm: query.arm, withText: readable.has(evaluation.id) })));
    },
  );
}

/** Reads no further ahead than a client takes. */
function textStream(source: AsyncIterable<string>): Readable {
  return Readable.from(source, { objectMode: false, highWaterMark: 64 * 1024 });
}

/** Proxies close connections that say nothing for a minute. */
const HEARTBEAT_MILLISECONDS = 15_000;

/** Events as a stream of server-sent events, with a comment now and then while nothing happens. It is read as fast as the client takes it. */
async function* eventStream(events: AsyncIterable<StoredEvent>, clock: Clock): AsyncGenerator<string> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    while (true) {
      const heard = await heartbeatOr(next, clock);
      if (heard === 'heartbeat') yield ': still here\n\n';
      else if (heard.done === true) return;
      else {
        yield frame(heard.value);
        next = iterator.next();
      }
    }
  } finally {
    await iterator.return?.();
  }
}

async function heartbeatOr<Result>(next: Promise<Result>, clock: Clock): Promise<Result | 'heartbeat'> {
  const heard = new AbortController();
  const heartbeat = sleep(clock, HEARTBEAT_MILLISECONDS, heard.signal).then(
    () => 'heartbeat' as const,
    () => 'heartbeat' as const,
  );
  try {
    return await Promise.race([next, heartbeat]);
  } finally {
    heard.abort();
  }
}

/** JSON has no line breaks in it, so it is one line of data. */
function frame({ sequence, type, data, at }: StoredEvent): string {
  return `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, type, at: at.toISOString(), data })}\n\n`;
}
