import { z } from 'zod';
import { rankContenders, type Ranking } from '../../aggregation/ranking.ts';
import { digestSchema, summarySchema, type Summary } from './summary.ts';

/** What `muster eval --json` prints for several checkpoints. */
export const summariesSchema = z
  .strictObject({
    schema: z.literal('muster.summaries/1'),
    ranking: z.strictObject({
      confidence: z.number().describe('that all of the ranks below are right at once: what remains of 1 after the risks of all intervals'),
      places: z
        .array(
          z.strictObject({
            checkpoint: digestSchema,
            uri: z.string(),
            mean: z.number().nullable().describe('the mean to quote: `official.biasReducedMean`'),
            best: z.int().describe('best rank that the intervals leave open'),
            worst: z.int().describe('worst rank that the intervals leave open'),
          }),
        )
        .describe('by falling mean'),
    }),
    summaries: z.array(summarySchema).describe('in the order in which the checkpoints were given'),
  })
  .describe('Summaries of several Muster evaluations');

export type Summaries = z.infer<typeof summariesSchema>;

export function toSummaries(summaries: readonly Summary[]): Summaries {
  const { confidence, places } = rankSummaries(summaries);
  return {
    schema: 'muster.summaries/1',
    ranking: {
      confidence,
      places: places.flatMap(({ contender, best, worst }) => {
        const summary = summaries[contender];
        if (!summary) return [];
        const { official, checkpoint } = summary;
        return [{ checkpoint: official.checkpoint.digest, uri: checkpoint.uri, mean: official.biasReducedMean, best, worst }];
      }),
    },
    summaries: [...summaries],
  };
}

/** Ranks by the mean to quote, which is the figure that every form of the ranking shows. */
export function rankSummaries(summaries: readonly Summary[]): Ranking {
  return rankContenders(summaries.map(({ official: { biasReducedMean, interval } }) => ({ mean: biasReducedMean, interval })));
}
