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

/** Adds one stream with the changes of all evaluations and pools: a page that shows many needs one connection. */
export function addLiveRoutes(instance: FastifyInstance, options: LiveRoutesOptions): void {
  const { service, clock, room } = options;
  const frames = new LiveFrames(options);
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
      return sendEvents(reply, streamFrames(service.followAll(createGoneSignal(reply)), caller, frames), clock);
    },
  );
}

const NO_CHANGES: LiveChanges = { evaluations: [], running: new Map(), isIncomplete: false };

/** The first frame has the pools, so that a reader knows at once that it is connected. */
async function* streamFrames(changes: AsyncIterable<LiveChanges>, caller: Caller, frames: LiveFrames): AsyncGenerator<Uint8Array> {
  const first = await frames.write({ ...NO_CHANGES }, caller);
  let shown = first.pools;
  yield first.format(true);
  for await (const each of changes) {
    const frame = await frames.write(each, caller);
    const hasPools = frame.pools !== shown;
    shown = frame.pools;
    if (hasPools || !frame.isEmpty) yield frame.format(hasPools);
  }
}

/**
 * Frames of the stream. Most readers keep up, and get the same changes. Each frame is written once for all readers with the same rights, so that a
 * further reader costs the server little more than its socket.
 */
class LiveFrames {
  readonly #options: Pick<LiveRoutesOptions, 'pools' | 'use'>;
  readonly #written = new WeakMap<LiveChanges, Map<string, Promise<LiveFrame>>>();

  constructor(options: Pick<LiveRoutesOptions, 'pools' | 'use'>) {
    this.#options = options;
  }

  write(changes: LiveChanges, caller: Caller): Promise<LiveFrame> {
    const access = caller.role === 'operator' ? '' : caller.principal;
    const written = this.#written.get(changes) ?? new Map<string, Promise<LiveFrame>>();
    const frame = written.get(access) ?? this.#write(changes, caller);
    this.#written.set(changes, written.set(access, frame));
    return frame;
  }

  async #write({ evaluations, running, isIncomplete }: LiveChanges, caller: Caller): Promise<LiveFrame> {
    const { pools, use } = this.#options;
    const rest: Omit<LiveMessage, 'running' | 'pools'> = {
      ...(evaluations.length > 0 && { evaluations: await listReadableItems(evaluations, caller, use) }),
      ...(isIncomplete && { isIncomplete: true }),
    };
    const members = [JSON.stringify(rest).slice(1, -1), running.size > 0 ? formatRunning(running) : ''];
    return new LiveFrame(
      members.filter((each) => each !== ''),
      JSON.stringify(toPoolResources(pools, caller)),
    );
  }
}

/** The largest part, which is equal for all readers, whatever their rights. */
const written = new WeakMap<LiveChanges['running'], string>();

/** Formats the member `running` of a message. */
function formatRunning(running: LiveChanges['running']): string {
  const known = written.get(running);
  if (known !== undefined) return known;
  const items: NonNullable<LiveMessage['running']> = Array.from(running, ([id, figures]) => ({ id, running: figures }));
  const text = `"running":${JSON.stringify(items)}`;
  written.set(running, text);
  return text;
}

/** Pools are sent to readers that were sent other ones last. */
class LiveFrame {
  readonly pools: string;
  readonly #members: readonly string[];
  readonly #formatted = new Map<boolean, Uint8Array>();

  /** @param members of the message, without the pools. @param pools as JSON. */
  constructor(members: readonly string[], pools: string) {
    this.#members = members;
    this.pools = pools;
  }

  get isEmpty(): boolean {
    return this.#members.length === 0;
  }

  format(hasPools: boolean): Uint8Array {
    const known = this.#formatted.get(hasPools);
    if (known) return known;
    const members = hasPools ? [...this.#members, `"pools":${this.pools}`] : this.#members;
    const bytes = Buffer.from(`event: changes\ndata: {${members.join(',')}}\n\n`);
    this.#formatted.set(hasPools, bytes);
    return bytes;
  }
}

async function listReadableItems(
  evaluations: LiveChanges['evaluations'],
  caller: Caller,
  use: Pick<CheckpointUse, 'findUsable'>,
): Promise<EvaluationItem[]> {
  const readable = await findReadable(caller, evaluations, use);
  return evaluations.map((stored) => (readable.has(stored.id) ? toEvaluationItem(stored) : withholdText(toEvaluationItem(stored))));
}
