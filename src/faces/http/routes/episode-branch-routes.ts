import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { FileAtStep } from '../../../agents/arena/episode-files.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';
import { requireCaller } from '../requests/caller.ts';
import { episodeParamsSchema } from '../schemas/agent-episode-schemas.ts';
import {
  contentQuerySchema,
  diffQuerySchema,
  diffSchema,
  filesQuerySchema,
  filesSchema,
  forkSchema,
  forksSchema,
} from '../schemas/episode-branch-schemas.ts';
import { toAgentEpisodeResource } from './agent-episode-resource.ts';
import { sendFile } from '../requests/stored-bytes.ts';

const TAGS = ['episodes of agents'];

/** Adds the forks of episodes, and the files of any step. */
export function addEpisodeBranchRoutes(instance: FastifyInstance, arena: EpisodeCalls): void {
  addForkRoute(instance, arena);
  addFilesRoute(instance, arena);
  addContentRoute(instance, arena);
  addDiffRoute(instance, arena);
}

function addForkRoute(instance: FastifyInstance, arena: EpisodeCalls): void {
  instance.withTypeProvider<ZodTypeProvider>().post(
    '/v1/episodes/:id/fork',
    {
      schema: {
        summary: 'Begin episodes that continue from a step of this one',
        description: 'They have its steps up to there, and its files. Their next step has the next number.',
        tags: TAGS,
        params: episodeParamsSchema,
        body: forkSchema,
        response: { 201: forksSchema, ...PROBLEMS },
      },
    },
    async ({ params, body: { at, n, agent }, caller }, reply) => {
      const forks = await arena.fork(params.id, { at, n, agent }, requireCaller(caller));
      return reply.code(201).send({ items: forks.map(toAgentEpisodeResource) });
    },
  );
}

function addFilesRoute(instance: FastifyInstance, arena: EpisodeCalls): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/episodes/:id/files',
    {
      schema: {
        summary: 'What was in the workspace after a step',
        tags: TAGS,
        params: episodeParamsSchema,
        querystring: filesQuerySchema,
        response: { 200: filesSchema, ...PROBLEMS },
      },
    },
    async ({ params, query: { at, after = '', limit }, caller }) => {
      const files = (await arena.listFiles(params.id, requireCaller(caller), at)).filter(({ path }) => path > after);
      const items = files.slice(0, limit);
      return { items: items.map(toFileResource), next: items.length < files.length ? (items.at(-1)?.path ?? null) : null };
    },
  );
}

function addContentRoute(instance: FastifyInstance, arena: EpisodeCalls): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/episodes/:id/files/content',
    {
      schema: {
        summary: 'A file of the workspace as it was after a step',
        tags: TAGS,
        params: episodeParamsSchema,
        querystring: contentQuerySchema,
        response: {
          200: { description: 'its bytes', content: { 'application/octet-stream': { schema: z.string() } } },
          ...PROBLEMS,
        },
      },
    },
    async ({ params, query: { path, at }, caller }, reply) => {
      return sendFile(reply, await arena.readFileContent(params.id, requireCaller(caller), path, at));
    },
  );
}

function addDiffRoute(instance: FastifyInstance, arena: EpisodeCalls): void {
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/v1/episodes/:id/diff',
    {
      schema: {
        summary: 'How the files have changed between two steps',
        tags: TAGS,
        params: episodeParamsSchema,
        querystring: diffQuerySchema,
        response: { 200: diffSchema, ...PROBLEMS },
      },
    },
    async ({ params, query: { from, at }, caller }) => {
      const { files, patch } = await arena.diff(params.id, requireCaller(caller), from, at);
      return { files: [...files], patch };
    },
  );
}

function toFileResource(entry: FileAtStep): z.infer<typeof filesSchema>['items'][number] {
  if (entry.kind !== 'file') return entry;
  const { kind, path, digest, bytes, executable } = entry;
  return { kind, path, digest, bytes, executable };
}
