import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Clock } from '../../../../kernel/clock.ts';
import type { RolloutCalls } from '../../../../service/rollouts/rollout-service.ts';
import type { StreamBoard } from '../../../../service/rollouts/stream-board.ts';
import { PROBLEMS } from '../../problems/problem-responses.ts';
import { requireCaller } from '../../requests/caller.ts';
import { createGoneSignal } from '../../requests/gone-signal.ts';
import { boardSchema, boardStreamSchema, streamParamsSchema } from '../../schemas/rollout-schemas.ts';
import type { StreamRoom } from '../../requests/stream-room.ts';
import { sendEvents } from '../event-stream.ts';
import { toBoardResource } from './rollout-resource.ts';

interface RolloutBoardRoutesOptions {
  readonly rollouts: Pick<RolloutCalls, 'find' | 'readBoard' | 'watch'>;
  readonly clock: Clock;
  readonly room: StreamRoom;
}

const TAGS = ['rollouts'];

/** Shows a stream of groups without leasing any, once or continuously. */
export function addRolloutBoardRoutes(instance: FastifyInstance, { rollouts, room, clock }: RolloutBoardRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/rollouts/:id/board',
    {
      schema: {
        summary: 'Look at a stream: its capacity, and its latest groups with rewards, advantages, staleness and leases. It leases nothing',
        tags: TAGS,
        params: streamParamsSchema,
        response: { 200: boardSchema, ...PROBLEMS },
      },
    },
    async ({ params, caller }) => toBoardResource(await rollouts.readBoard(params.id, requireCaller(caller))),
  );
  app.get(
    '/v1/rollouts/:id/events',
    {
      schema: {
        summary: 'Follow what `board` says, once a second at most, as server-sent events until the stream is over',
        tags: TAGS,
        params: streamParamsSchema,
        response: { 200: { description: 'events', content: { 'text/event-stream': { schema: boardStreamSchema } } }, ...PROBLEMS },
      },
    },
    async ({ params, caller }, reply) => {
      const asking = requireCaller(caller);
      const { id } = await rollouts.find(params.id, asking);
      room.take(asking.principal, reply);
      return sendEvents(reply, toFrames(rollouts.watch(id, asking, createGoneSignal(reply))), clock);
    },
  );
}

async function* toFrames(boards: AsyncIterable<StreamBoard>): AsyncGenerator<string> {
  for await (const board of boards) yield `event: board\ndata: ${JSON.stringify(toBoardResource(board))}\n\n`;
}
