import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { rewardSchema, stepAnswerSchema } from '../../../agents/arena/episode-answers.ts';
import type { StoredAgentEpisode, StoredStep } from '../../../agents/arena/trajectories.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import type { StreamRoom } from '../requests/stream-room.ts';
import {
  agentEpisodeSchema,
  episodeListQuerySchema,
  episodePageSchema,
  episodeParamsSchema,
  gradingSchema,
  newEpisodeSchema,
  rewardQuerySchema,
  startedEpisodeSchema,
  stepBodySchema,
  stepsQuerySchema,
  storedStepsSchema,
} from '../schemas/agent-episode-schemas.ts';
import { describeEventStream } from '../schemas/evaluation-schemas.ts';
import { toAgentEpisodeResource, toStartedEpisodeResource, parseStepAnswer, toStoredStepsResource } from './agent-episode-resource.ts';
import { addEpisodeBranchRoutes } from './episode-branch-routes.ts';
import { sendEvents } from './event-stream.ts';
import { sendJsonText } from '../requests/stored-bytes.ts';

export interface AgentEpisodeRoutesOptions {
  readonly arena: EpisodeCalls;
  readonly clock: Clock;
  readonly room: StreamRoom;
  readonly maxWaitSeconds: () => number;
}

const TAGS = ['episodes of agents'];

/** Adds the calls with which agents play tasks: an episode, its steps, its reward. */
export function addAgentEpisodeRoutes(instance: FastifyInstance, options: AgentEpisodeRoutesOptions): void {
  addPlayingRoutes(instance, options);
  addEndingRoutes(instance, options);
  addLookingRoutes(instance, options);
  addEpisodeBranchRoutes(instance, options.arena);
  addAgentEventRoute(instance, options);
}

function addPlayingRoutes(instance: FastifyInstance, { arena }: AgentEpisodeRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/v1/episodes',
    {
      schema: {
        summary: 'Begin an episode: an agent gets a task and a workspace',
        tags: TAGS,
        body: newEpisodeSchema,
        response: { 201: startedEpisodeSchema, ...PROBLEMS },
      },
    },
    async ({ body, caller }, reply) => {
      const started = await arena.start(body, requireCaller(caller));
      reply.header('location', `/v1/episodes/${started.episode.id}`);
      return reply.code(201).send(toStartedEpisodeResource(started));
    },
  );
  app.post(
    '/v1/episodes/:id/steps',
    {
      schema: {
        summary: 'Take a step: an action in the workspace, and what the agent sees of it',
        description:
          'An invalid action is answered with an observation and costs a step. With `step` a request may be sent again: it has the same answer.',
        tags: TAGS,
        params: episodeParamsSchema,
        body: stepBodySchema,
        response: { 200: stepAnswerSchema, ...PROBLEMS },
      },
    },
    async ({ params, body, caller }, reply) => {
      const { step, ...action } = body;
      return sendJsonText(reply, await arena.step(params.id, requireCaller(caller), step, action));
    },
  );
}

function addEndingRoutes(instance: FastifyInstance, { arena, maxWaitSeconds }: AgentEpisodeRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/episodes/:id/reward',
    {
      schema: {
        summary: 'The reward of an episode that was submitted; never before',
        tags: TAGS,
        params: episodeParamsSchema,
        querystring: rewardQuerySchema,
        response: { 200: rewardSchema, 202: gradingSchema, ...PROBLEMS },
      },
    },
    async ({ params, query, caller }, reply) => {
      const most = maxWaitSeconds();
      if (query.wait > most)
        throw new InputError('request.wait', `query.wait: expected ${most} seconds at most (server.maxWaitSeconds), got ${query.wait}`);
      const reward = await arena.reward(params.id, requireCaller(caller), query.wait * 1000, false, createGoneSignal(reply));
      if (reward.kind === 'closed') return sendJsonText(reply.code(200), reward.document);
      return reply.code(202).send({ episode: params.id, state: 'grading' });
    },
  );
  app.delete(
    '/v1/episodes/:id',
    {
      schema: {
        summary: 'Give an episode up: it has no reward',
        tags: TAGS,
        params: episodeParamsSchema,
        response: { 200: agentEpisodeSchema, ...PROBLEMS },
      },
    },
    async ({ params, caller }) => toAgentEpisodeResource(await arena.cancel(params.id, requireCaller(caller))),
  );
}

function addLookingRoutes(instance: FastifyInstance, { arena }: AgentEpisodeRoutesOptions): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/episodes',
    {
      schema: {
        summary: 'List your episodes, latest first',
        tags: TAGS,
        querystring: episodeListQuerySchema,
        response: { 200: episodePageSchema, ...PROBLEMS },
      },
    },
    async ({ query, caller }) => {
      const { items, next } = await arena.list(query, query, requireCaller(caller));
      return { items: items.map(toAgentEpisodeResource), next: next ?? null };
    },
  );
  app.get(
    '/v1/episodes/:id',
    {
      schema: { summary: 'One episode', tags: TAGS, params: episodeParamsSchema, response: { 200: agentEpisodeSchema, ...PROBLEMS } },
    },
    async ({ params, caller }) => toAgentEpisodeResource(await arena.find(params.id, requireCaller(caller))),
  );
  app.get(
    '/v1/episodes/:id/steps',
    {
      schema: {
        summary: 'Steps of an episode, with what was sent and what was answered',
        tags: TAGS,
        params: episodeParamsSchema,
        querystring: stepsQuerySchema,
        response: { 200: storedStepsSchema, ...PROBLEMS },
      },
    },
    async ({ params, query, caller }) =>
      toStoredStepsResource(await arena.steps(params.id, requireCaller(caller), query.after, query.limit)),
  );
}

function addAgentEventRoute(instance: FastifyInstance, { arena, clock, room }: AgentEpisodeRoutesOptions): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/episodes/:id/events',
    {
      schema: {
        summary: 'Follow an episode: steps and the end, as server-sent events',
        tags: TAGS,
        params: episodeParamsSchema,
        querystring: z.strictObject({ after: z.coerce.number().int().min(0).max(1_000_000_000).optional() }),
        headers: z.looseObject({
          'last-event-id': z
            .string()
            .regex(/^\d{1,10}$/, 'expected the id of an event')
            .optional(),
        }),
        response: {
          200: { description: 'events', content: { 'text/event-stream': { schema: describeEventStream(['step', 'closed']) } } },
          ...PROBLEMS,
        },
      },
    },
    async ({ params, query, headers, caller }, reply) => {
      const { id } = await arena.find(params.id, requireCaller(caller));
      room.take(requireCaller(caller).principal, reply);
      const after = Number(headers['last-event-id'] ?? query.after ?? 0);
      return sendEvents(reply, streamFrames(arena.follow(id, after, createGoneSignal(reply))), clock);
    },
  );
}

/** JSON contains no line breaks, so it is one line of data. */
async function* streamFrames(followed: AsyncIterable<StoredStep | StoredAgentEpisode>): AsyncGenerator<string> {
  for await (const each of followed) {
    if ('number' in each) yield formatFrame(each.number, 'step', each.at, parseStepAnswer(each.answer));
    else yield formatFrame(each.steps + 1, 'closed', each.closed?.at ?? each.touchedAt, toAgentEpisodeResource(each));
  }
}

function formatFrame(sequence: number, type: 'step' | 'closed', at: Date, data: object): string {
  return `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, type, at: at.toISOString(), data })}\n\n`;
}
