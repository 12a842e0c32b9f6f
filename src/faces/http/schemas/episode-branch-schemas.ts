import { z } from 'zod';
import { agentEpisodeSchema, agentName, MOST_STEPS } from './agent-episode-schemas.ts';

const MOST_FORKS = 256;
const step = z.coerce.number().int().min(0).max(MOST_STEPS);
const at = step.optional().describe('after which step; 0 for the beginning, the last one when it is left out');

export const forkSchema = z
  .strictObject({
    at: z.int().min(0).max(MOST_STEPS).optional().describe('behind which step; 0 for the beginning, the last one when it is left out'),
    n: z.int().min(1).max(MOST_FORKS).default(1).describe('how many episodes'),
    agent: agentName.optional(),
  })
  .describe('EpisodeFork');

export const forksSchema = z.strictObject({ items: z.array(agentEpisodeSchema) }).describe('AgentEpisodes');

export const filesQuerySchema = z.strictObject({
  at,
  after: z.string().min(1).max(4096).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(1000).default(1000),
});

export const contentQuerySchema = z.strictObject({
  at,
  path: z
    .string()
    .min(2)
    .max(4096)
    .regex(/^\/[^\0]*$/, 'expected an absolute path')
    .describe('absolute'),
});

export const diffQuerySchema = z.strictObject({ at, from: step.default(0).describe('step to compare with; 0 for the beginning') });

const path = z.string().describe('absolute');

export const filesSchema = z
  .strictObject({
    items: z.array(
      z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('file'), path, digest: z.string(), bytes: z.int().min(0), executable: z.boolean() }),
        z.strictObject({ kind: z.literal('link'), path, target: z.string() }),
        z.strictObject({ kind: z.literal('directory'), path }),
      ]),
    ),
    next: z.string().nullable(),
  })
  .describe('EpisodeFiles');

export const diffSchema = z
  .strictObject({
    files: z.array(
      z.strictObject({
        path,
        change: z.enum(['added', 'changed', 'removed']),
        isShown: z.boolean().describe('whether the patch shows it; what is no text or is large is named only'),
      }),
    ),
    patch: z.string().describe('unified diff'),
  })
  .describe('EpisodeDiff');
