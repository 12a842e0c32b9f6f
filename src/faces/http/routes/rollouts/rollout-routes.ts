import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { InputError } from '../../../../kernel/errors.ts';
import type { RolloutCalls } from '../../../../service/rollouts/rollout-service.ts';
import { PROBLEMS } from '../../problems/problem-responses.ts';
import { requireCaller } from '../../requests/caller.ts';
import { createGoneSignal } from '../../requests/gone-signal.ts';
import { sendJsonText } from '../../requests/stored-bytes.ts';
import type { StreamRoom } from '../../requests/stream-room.ts';
import { textStreamSchema } from '../../schemas/evaluation-schemas.ts';
import {
  acknowledgedSchema,
  acknowledgeSchema,
  groupsQuerySchema,
  groupsSchema,
  newRolloutsSchema,
  newVersionSchema,
  policyParamsSchema,
  rolloutListQuerySchema,
  rolloutListSchema,
  rolloutsSchema,
  streamParamsSchema,
  reportedVersionSchema,
} from '../../schemas/rollout-schemas.ts';
import { sendEvents, sendLines } from '../event-stream.ts';
import { addRolloutBoardRoutes } from './rollout-board-routes.ts';
import { toRolloutsResource } from './rollout-resource.ts';

export interface RolloutRoutesOptions {
  readonly rollouts: RolloutCalls;
  readonly clock: Clock;
  readonly room: StreamRoom;
  readonly maxWaitSeconds: () => number;
}

const TAGS = ['rollouts'];

/** Adds the calls for groups of trajectories: a stream, its groups, their acknowledgement, and the versions of a policy. */
export function addRolloutRoutes(instance: FastifyInstance, options: RolloutRoutesOptions): void {
  addStreamRoutes(instance, options);
  addRolloutBoardRoutes(instance, options);
  addGroupRoutes(instance, options);
  addAcknowledgingRoutes(instance, options);
}

function addStreamRoutes(instance: FastifyInstance, { rollouts }: RolloutRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/v1/rollouts',
    {
      schema: {
        summary: 'Begin a stream of groups of trajectories for a training',
        tags: TAGS,
        body: newRolloutsSchema,
        response: { 201: rolloutsSchema, ...PROBLEMS },
      },
    },
    async ({ body: { suite, agent, policy, ...terms }, caller }, reply) => {
      const stream = await rollouts.start({ suite, agent, policy, terms }, requireCaller(caller), createGoneSignal(reply));
      reply.header('location', `/v1/rollouts/${stream.id}`);
      return reply.code(201).send(toRolloutsResource(stream));
    },
  );
  app.get(
    '/v1/rollouts',
    {
      schema: {
        summary: 'List your streams, latest first',
        tags: TAGS,
        querystring: rolloutListQuerySchema,
        response: { 200: rolloutListSchema, ...PROBLEMS },
      },
    },
    async ({ query, caller }) => ({ items: (await rollouts.list(query.limit, requireCaller(caller))).map(toRolloutsResource) }),
  );
  app.get(
    '/v1/rollouts/:id',
    { schema: { summary: 'One stream', tags: TAGS, params: streamParamsSchema, response: { 200: rolloutsSchema, ...PROBLEMS } } },
    async ({ params, caller }) => toRolloutsResource(await rollouts.find(params.id, requireCaller(caller))),
  );
  app.delete(
    '/v1/rollouts/:id',
    {
      schema: {
        summary: 'End a stream: no more of its groups are delivered',
        tags: TAGS,
        params: streamParamsSchema,
        response: { 200: rolloutsSchema, ...PROBLEMS },
      },
    },
    async ({ params, caller }) => toRolloutsResource(await rollouts.cancel(params.id, requireCaller(caller))),
  );
}

function addGroupRoutes(instance: FastifyInstance, { rollouts, clock, room, maxWaitSeconds }: RolloutRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/rollouts/:id/groups',
    {
      schema: {
        summary: 'Lease the next groups',
        description:
          'A group that is not acknowledged comes again when its lease is over. With `accept: application/x-ndjson` one group a line, with `accept: text/event-stream` one group an event `group`; each is leased when the last was taken, until the stream is over. An empty line or a comment now and then means nothing.',
        tags: TAGS,
        params: streamParamsSchema,
        querystring: groupsQuerySchema,
        response: {
          200: {
            description: 'groups that were leased',
            content: {
              'application/json': { schema: groupsSchema },
              'application/x-ndjson': { schema: textStreamSchema },
              'text/event-stream': { schema: textStreamSchema },
            },
          },
          ...PROBLEMS,
        },
      },
    },
    async ({ params, query: { after, lease, limit, wait }, headers, caller }, reply) => {
      const asking = requireCaller(caller);
      const gone = createGoneSignal(reply);
      const { accept = '' } = headers;
      const isLines = accept.includes('application/x-ndjson');
      if (isLines || accept.includes('text/event-stream')) {
        const { id } = await rollouts.find(params.id, asking);
        room.take(asking.principal, reply);
        const followed = rollouts.follow(id, asking, { after, leaseSeconds: lease }, gone);
        return isLines ? sendLines(reply, followed, clock) : sendEvents(reply, toGroupEvents(followed), clock);
      }
      const most = maxWaitSeconds();
      if (wait > most)
        throw new InputError('request.wait', `query.wait: expected ${most} seconds at most (server.maxWaitSeconds), got ${wait}`);
      const { groups, stream } = await rollouts.groups(params.id, asking, { after, leaseSeconds: lease, limit }, wait * 1000, gone);
      const { state, problem = null } = stream;
      return sendJsonText(reply, `{"items":[${groups.join(',')}],"state":${JSON.stringify(state)},"problem":${JSON.stringify(problem)}}`);
    },
  );
}

/** A group is one line. */
async function* toGroupEvents(groups: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const group of groups) yield `event: group\ndata: ${group}\n\n`;
}

function addAcknowledgingRoutes(instance: FastifyInstance, { rollouts }: RolloutRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/v1/rollouts/:id/ack',
    {
      schema: {
        summary: 'Acknowledge groups: they never come again',
        description: 'May be sent again: what was acknowledged by the same lease is answered with `repeated`.',
        tags: TAGS,
        params: streamParamsSchema,
        body: acknowledgeSchema,
        response: { 200: acknowledgedSchema, ...PROBLEMS },
      },
    },
    async ({ params, body: { groups }, caller }) => {
      const results = await rollouts.acknowledge(params.id, requireCaller(caller), groups);
      return { items: groups.map(({ group }, i) => ({ group, result: results[i] ?? 'unknown' })) };
    },
  );
  app.post(
    '/v1/policies/:name/versions',
    {
      schema: {
        summary: 'Tell that a policy has a new version',
        description: 'May be sent again: telling the last version once more changes nothing.',
        tags: TAGS,
        params: policyParamsSchema,
        body: newVersionSchema,
        response: { 200: reportedVersionSchema, ...PROBLEMS },
      },
    },
    async ({ params: { name }, body: { version, endpoint }, caller }) => {
      const { ordinal } = await rollouts.reportVersion(name, version, endpoint, requireCaller(caller));
      return { policy: name, version, ordinal };
    },
  );
}
