import { z } from 'zod';
import { EPISODE_RANKINGS } from '../../../evaluation-store/episode-log.ts';
import { FAILURE_CAUSES } from '../../../kernel/outcome.ts';
import { wholeNumber } from './evaluation-schemas.ts';

export const episodesQuerySchema = z.strictObject({
  from: wholeNumber.default(0).describe('first index; with a ranking, the first position in it'),
  ranking: z
    .enum(EPISODE_RANKINGS)
    .exactOptional()
    .describe(
      'in another order than by index: return least or most first, most steps or seconds first, farthest from the baseline first; or failed ones',
    ),
  limit: wholeNumber.pipe(z.int().min(1)).exactOptional().describe('so many at most; all of them when left out'),
  arm: wholeNumber.default(0).describe('of a comparison: 0 for the baseline, 1, 2, … for the candidates'),
});

const outcomeSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('completed'), return: z.number(), length: z.int(), metrics: z.record(z.string(), z.number()) }),
  z.strictObject({ kind: z.literal('failed'), cause: z.enum(FAILURE_CAUSES), detail: z.string() }),
  z.strictObject({ kind: z.literal('lost'), detail: z.string() }),
]);

export const episodeSchema = z
  .strictObject({
    index: z.int(),
    task: z.string(),
    environmentSeed: z.int(),
    policySeed: z.int(),
    checkpoint: z.string().describe('digest'),
    outcome: outcomeSchema,
    seconds: z.number(),
    log: z.string().exactOptional().describe('what the environment and the policy printed, shortened'),
    withheld: z
      .literal(true)
      .exactOptional()
      .describe('present where log and outcome.detail were left out, as you may not use all of the checkpoints'),
  })
  .describe('one line of the stream: an episode that was settled');

export type EpisodeLine = z.infer<typeof episodeSchema>;
