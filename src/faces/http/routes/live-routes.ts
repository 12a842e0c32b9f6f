import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Clock } from '../../../kernel/clock.ts';
import type { Caller } from '../../../service/access/caller.ts';
import type { CheckpointUse } from '../../../service/checkpoints/checkpoint-use.ts';
import { findReadable } from '../../../service/checkpoints/text-readers.ts';
import type { EvaluationService } from '../../../service/evaluation-service.ts';
import type { PoolService } from '../../../service/upkeep/pool-service.ts';
import type { LiveChanges } from '../../../service/watching/live-feed.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import type { StreamRoom } from '../requests/stream-room.ts';
import type { EvaluationItem } from '../schemas/evaluation-schemas.ts';
import { liveStreamSchema, type LiveMessage } from '../schemas/live-schemas.ts';
import { toEvaluationItem } from './evaluation-resource.ts';
import { sendEvents } from './event-stream.ts';
import { toPoolResources } from './pool-routes.ts';
import { withholdText } from './withheld-text.ts';

export interface LiveRoutesOptions {
  readonly service: Pick<EvaluationService, 'followAll'>;
  readonly pools: Pick<PoolService, 'list'>;
  /** Decides who may read what programs printed. */
  readonly use: Pick<CheckpointUse, 'findUsable'>;
  readonly clock: Clock;
  readonly room: StreamRoom;
}

/** One stream with the changes of all evaluations and pools: a page that shows many needs one connection. */
export function addLiveRoutes(instance: FastifyInstance, options: LiveRoutesOptions): void {
  const { service, clock, room } = options;
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/live',
    {
      schema: {
        summary: 'Follow all evaluations and pools: what changes, twice a second at most, as server-sent events',
        tags: ['evaluations'],
        response: { 200: { description: 'events', content: { 'text/event-stream': { schema: liveStreamSchema } } }, ...PROBLEMS },
      },
    },
    async (request, reply) => {
      const caller = requireCaller(request.caller);
      room.take(caller.principal, reply);
      return sendEvents(reply, streamFrames(service.followAll(createGoneSignal(reply)), caller, options), clock);
    },
  );
}

/** The first frame has the pools, so that a reader knows at once that it is connected. */
async function* streamFrames(
  changes: AsyncIterable<LiveChanges>,
  caller: Caller,
  { pools, use }: LiveRoutesOptions,
): AsyncGenerator<string> {
  let shown = JSON.stringify(toPoolResources(pools, caller));
  yield `event: changes\ndata: ${JSON.stringify({ pools: toPoolResources(pools, caller) } satisfies LiveMessage)}\n\n`;
  for await (const { evaluations, running, isIncomplete } of changes) {
    const now = toPoolResources(pools, caller);
    const text = JSON.stringify(now);
    const rest: Omit<LiveMessage, 'running'> = {
      ...(evaluations.length > 0 && { evaluations: await listReadableItems(evaluations, caller, use) }),
      ...(text !== shown && { pools: now }),
      ...(isIncomplete && { isIncomplete: true }),
    };
    shown = text;
    const members = [JSON.stringify(rest).slice(1, -1), running.size > 0 ? formatRunning(running) : ''].filter((each) => each !== '');
    if (members.length > 0) yield `event: changes\ndata: {${members.join(',')}}\n\n`;
  }
}

/** Most of what is sent, to all readers alike: it is written once for all that keep up. */
const written = new WeakMap<LiveChanges['running'], string>();

/** The member `running` of a message. */
function formatRunning(running: LiveChanges['running']): string {
  const known = written.get(running);
  if (known !== undefined) return known;
  const items: NonNullable<LiveMessage['running']> = Array.from(running, ([id, figures]) => ({ id, running: figures }));
  const text = `"running":${JSON.stringify(items)}`;
  written.set(running, text);
  return text;
}

async function listReadableItems(
  evaluations: LiveChanges['evaluations'],
  caller: Caller,
  use: Pick<CheckpointUse, 'findUsable'>,
): Promise<EvaluationItem[]> {
  const readable = await findReadable(caller, evaluations, use);
  return evaluations.map((stored) => (readable.has(stored.id) ? toEvaluationItem(stored) : withholdText(toEvaluationItem(stored))));
}
