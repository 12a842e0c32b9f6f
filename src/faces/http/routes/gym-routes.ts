import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { rewardSchema, stepAnswerSchema } from '../../../agents/arena/episode-answers.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import {
  episodeParamsSchema,
  gradingSchema,
  newGymEpisodeSchema,
  startedGymEpisodeSchema,
  stepBodySchema,
} from '../schemas/agent-episode-schemas.ts';
import { toStartedEpisodeResource } from './agent-episode-resource.ts';
import { sendJsonText } from '../requests/stored-bytes.ts';

const TAGS = ['episodes of agents'];
/** A verdict takes seconds, and agents for these calls request it once. */
const WAIT_MS = 60_000;

/** Adds the three calls under the names of Gym-style APIs. They have no submission: requesting the reward submits. */
export function addGymRoutes(instance: FastifyInstance, arena: EpisodeCalls): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/episodes',
    {
      schema: {
        summary: 'Begin an episode, with the names of Gym-style APIs',
        tags: TAGS,
        body: newGymEpisodeSchema,
        response: { 201: startedGymEpisodeSchema, ...PROBLEMS },
      },
    },
    async ({ body: { task_id: task, agent_id: agent, seed }, caller }, reply) => {
      const started = toStartedEpisodeResource(await arena.start({ task, agent, seed }, requireCaller(caller)));
      return reply.code(201).send({ ...started, episode_id: started.episode });
    },
  );
  app.post(
    '/episodes/:id/steps',
    {
      schema: {
        summary: 'Take a step, as POST /v1/episodes/{id}/steps does',
        tags: TAGS,
        params: episodeParamsSchema,
        body: stepBodySchema,
        response: { 200: stepAnswerSchema, ...PROBLEMS },
      },
    },
    async ({ params, body: { step, ...action }, caller }, reply) =>
      sendJsonText(reply, await arena.step(params.id, requireCaller(caller), step, action)),
  );
  app.get(
    '/episodes/:id/reward',
    {
      // HEAD must not submit.
      exposeHeadRoute: false,
      schema: {
        summary: 'Submit an episode that takes steps, and get its reward',
        description: 'Waits for the verdict for a minute; 202 when it takes longer.',
        tags: TAGS,
        params: episodeParamsSchema,
        response: { 200: rewardSchema, 202: gradingSchema, ...PROBLEMS },
      },
    },
    async ({ params, caller }, reply) => {
      const reward = await arena.reward(params.id, requireCaller(caller), WAIT_MS, true, createGoneSignal(reply));
      if (reward.kind === 'closed') return sendJsonText(reply.code(200), reward.document);
      return reply.code(202).send({ episode: params.id, state: 'grading' });
    },
  );
}
