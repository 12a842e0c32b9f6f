import { z } from 'zod';
import { officialComparisonSchema, VERDICTS, type Verdict } from '../../aggregation/comparison/comparison-statistics.ts';
import { runFactsSchema } from '../facts/run-facts.ts';
import { checkpointFactsSchema, digestSchema, ENDINGS } from './summary.ts';

/**
 * The answer of a comparison. As in the summary of an evaluation, `official` is a function of checkpoints, suite and terms alone, byte for
 * byte the same whatever the concurrency. It names candidates by their digests; `candidates` beside it says where they came from.
 */
export const comparisonSummarySchema = z
  .strictObject({
    schema: z.literal('muster.comparison/1'),
    official: z.strictObject({
      suite: z.strictObject({ name: z.string(), digest: digestSchema }),
      baseline: z.strictObject({ digest: digestSchema }),
      budgetEpisodes: z.int().describe('most episodes of all arms together'),
      ...officialComparisonSchema.shape,
    }),
    verdict: z.enum(VERDICTS).describe('the best verdict of any candidate: what the exit code says'),
    ended: z
      .enum(ENDINGS)
      .describe(
        'what ended it: verdicts for all, a budget, a checkpoint whose episodes all failed, the caller, or an infrastructure failure',
      ),
    partial: z.boolean().describe('true when it was cut short: neither verdicts nor the budget of episodes ended it'),
    warnings: z.array(z.string()),
    baseline: z.strictObject({ ...checkpointFactsSchema.shape, recorded: z.boolean().describe('its episodes were played before') }),
    candidates: z.array(checkpointFactsSchema).describe('in the order of official.candidates'),
    run: runFactsSchema,
  })
  .describe('Summary of a Muster comparison');

export type ComparisonSummary = z.infer<typeof comparisonSummarySchema>;

const BEST_FIRST: readonly Verdict[] = ['promote', 'equivalent', 'inconclusive', 'regress'];

/** Whether a pipeline may continue with a candidate. */
export function findBestVerdict(verdicts: readonly Verdict[]): Verdict {
  return BEST_FIRST.find((verdict) => verdicts.includes(verdict)) ?? 'inconclusive';
}
