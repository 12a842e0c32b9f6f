import { z } from 'zod';
import { officialStatisticsSchema } from '../../aggregation/results/statistics.ts';
import { playDeclarationSchema } from '../suite/play.ts';
import { runFactsSchema } from '../facts/run-facts.ts';
import { allocationSchema, stoppingSchema } from '../suite/suite.ts';

export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const ENDINGS = ['rule', 'verdicts', 'episodes', 'seconds', 'cost', 'failures', 'interrupted', 'failed'] as const;
export type Ending = (typeof ENDINGS)[number];

export const checkpointFactsSchema = z.strictObject({
  uri: z.string(),
  files: z.int(),
  bytes: z.int(),
  run: z.string().optional(),
  version: z.int().optional(),
});

/**
 * The answer of an evaluation. `official` is a function of checkpoint, suite and stopping rule alone, byte for byte the same whatever the
 * concurrency; `run` holds everything that depends on time and machine.
 */
export const summarySchema = z
  .strictObject({
    schema: z.literal('muster.summary/1'),
    official: z.strictObject({
      suite: z.strictObject({ name: z.string(), digest: digestSchema }),
      checkpoint: z.strictObject({ digest: digestSchema }),
      stop: stoppingSchema,
      allocation: allocationSchema,
      play: playDeclarationSchema.describe('how episodes were played: one after the other, or together in blocks'),
      budgetEpisodes: z.int().nullable().describe('most episodes that the suite allows; null for no bound'),
      ...officialStatisticsSchema.shape,
    }),
    ended: z
      .enum(ENDINGS)
      .describe(
        'what ended it: the stopping rule, the budget of episodes, seconds or cost, episodes that all failed, the caller, or an infrastructure failure',
      ),
    partial: z.boolean().describe('true when it ended before its stopping rule was satisfied or its episodes were played'),
    allFailed: z
      .literal(true)
      .optional()
      .describe('all episodes failed, and the suite does not say that failing is an answer: the mean is that of their scores alone'),
    warnings: z.array(z.string()),
    checkpoint: checkpointFactsSchema,
    run: runFactsSchema,
  })
  .describe('Summary of a Muster evaluation');

export type Summary = z.infer<typeof summarySchema>;
export type CheckpointFacts = z.infer<typeof checkpointFactsSchema>;
