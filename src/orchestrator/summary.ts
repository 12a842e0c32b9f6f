import { z } from 'zod';
import { LIMIT_NAMES } from '../pool/template.ts';
import { officialStatisticsSchema } from '../aggregation/statistics.ts';
import { stoppingSchema } from './suite.ts';

/**
 * The answer of an evaluation. `official` is a function of checkpoint, suite and stopping rule alone, byte for byte the same
 * whatever the concurrency; everything that time and place have a part in stands under `run`.
 */
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

const enforcementSchema = z.strictObject({ scope: z.enum(['tree', 'process', 'none']), by: z.string() });

export const ENDINGS = ['rule', 'episodes', 'seconds', 'interrupted', 'failed'] as const;

export const summarySchema = z
  .strictObject({
    schema: z.literal('muster.summary/1'),
    official: z.strictObject({
      suite: z.strictObject({ name: z.string(), digest }),
      checkpoint: z.strictObject({ digest }),
      stop: stoppingSchema,
      budgetEpisodes: z.int().nullable().describe('most episodes that the suite allows; null for no bound'),
      ...officialStatisticsSchema.shape,
    }),
    ended: z
      .enum(ENDINGS)
      .describe('what ended it: the stopping rule, the budget of episodes or seconds, the caller, or an infrastructure failure'),
    partial: z.boolean().describe('true when it ended before its stopping rule was satisfied or its episodes were played'),
    warnings: z.array(z.string()),
    checkpoint: z.strictObject({
      uri: z.string(),
      files: z.int(),
      bytes: z.int(),
      run: z.string().optional(),
      version: z.int().optional(),
    }),
    run: z.strictObject({
      startedAt: z.iso.datetime(),
      seconds: z.number().describe('wall clock, from the request to the summary'),
      firstEpisodeSeconds: z.number().optional().describe('from the request to the first outcome'),
      episodesPerSecond: z.number().describe('outcomes in all, by the time from the first outcome on'),
      outcomes: z.int().describe('episodes that came to an end, official and surplus'),
      surplus: z.int().describe('played, but not needed for the official result'),
      retried: z.int().describe('times that an episode was played again because its sandbox was lost'),
      duplicated: z.int().describe('stragglers that were given a second sandbox'),
      nonDeterministic: z.array(z.int()).describe('episodes of which two plays came out differently'),
      pool: z.strictObject({
        provider: z.string(),
        template: z.string(),
        mechanism: z.string(),
        limits: z.partialRecord(z.enum(LIMIT_NAMES), enforcementSchema),
        sandboxesMax: z.int(),
        created: z.int(),
        destroyed: z.int(),
        died: z.int(),
        failed: z.int(),
        swept: z.int(),
      }),
    }),
  })
  .describe('Summary of a Muster evaluation');

/** What `muster eval --json` prints for several checkpoints, in the order given. */
export const summariesSchema = z
  .strictObject({ schema: z.literal('muster.summaries/1'), summaries: z.array(summarySchema) })
  .describe('Summaries of several Muster evaluations');

export type Summary = z.infer<typeof summarySchema>;
export type Ending = (typeof ENDINGS)[number];
