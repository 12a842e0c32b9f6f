import { z } from 'zod';
import { failuresSchema } from '../folding/failure-counts.ts';
import { INTERVAL_METHODS } from '../intervals/intervals.ts';

/**
 * The official result of a comparison: a function of checkpoints, suite, confidence, margin and budget of episodes alone.
 *
 * As in the official result of an evaluation, keys have the order given here and none is left out (`null` says that a figure does not exist), so
 * equal results are equal byte for byte as JSON. Figures are in units of the return unless they say otherwise.
 */

export const VERDICTS = ['promote', 'regress', 'equivalent', 'inconclusive'] as const;
export type Verdict = (typeof VERDICTS)[number];

const count = z.int().nonnegative();
const figure = z.number().nullable();

const intervalSchema = z
  .strictObject({
    low: z.number(),
    high: z.number(),
    confidence: z
      .number()
      .gt(0)
      .lt(1)
      .describe(
        '1 − α/C for C candidates without a margin, 1 − 3α/(2C) with one; a verdict is wrong only where its interval does not hold',
      ),
    method: z.enum(INTERVAL_METHODS),
    guarantee: z.string().describe('what the confidence promises'),
  })
  .describe(
    'confidence sequence for the mean difference, ends excluded: above the margin with "promote", below minus the margin with "regress", within it with "equivalent"; reaches over everything that unresolved episodes could have returned',
  );

const evidenceSchema = z
  .strictObject({
    promote: z.number().describe('log10 of E⁺, the evidence that the mean difference is above the margin'),
    regress: z.number().describe('log10 of E⁻, the evidence that the mean difference is below minus the margin'),
    needed: z.number().describe('log10 of 2C/α, which decides when either reaches it'),
  })
  .describe('orders of magnitude; 0 says nothing, below 0 speaks against it');

const pointSchema = z.strictObject({
  pairs: count,
  promote: z.number().describe('log10 of E⁺'),
  regress: z.number().describe('log10 of E⁻'),
  difference: figure,
  low: z.number(),
  high: z.number(),
});

const probabilityOfImprovementSchema = z
  .strictObject({ value: z.number(), low: z.number(), high: z.number() })
  .describe(
    'probability that a return of the candidate exceeds one of the baseline on the same task, ties half: mean over the tasks that came up, with a bootstrap interval that allows neither for pairing nor for the stop',
  );

const candidateSchema = z.strictObject({
  name: z.string(),
  verdict: z
    .enum(VERDICTS)
    .describe('mean difference above the margin, below minus the margin, within it, or none of the three shown by the end'),
  decidedAt: count.nullable().describe('pairs at which the verdict was reached; its later episodes count for nothing'),
  pairs: count.describe('folded in index order, from index 0 on'),
  unresolvedPairs: count.describe('pairs with an episode lost to infrastructure for good on either side'),
  mean: figure.describe('of the candidate, over its resolved pairs'),
  baselineMean: figure.describe('of the baseline, over the same pairs'),
  difference: figure.describe('candidate minus baseline, mean over the same pairs'),
  biasReducedDifference: figure.describe(
    'the difference, less the bias that it has because the verdict decided when to stop: the one to quote; the difference itself with "equivalent" and "inconclusive"',
  ),
  standardError: figure.describe('of the mean difference, from the spread of the paired differences'),
  interval: intervalSchema.nullable().describe('null before the first pair'),
  evidence: evidenceSchema,
  course: z.array(pointSchema).describe('evidence, difference and interval over the pairs: evenly spaced, and the last pair'),
  discordant: count.describe('resolved pairs whose returns differ'),
  smallestEffect: figure.describe(
    'beside "inconclusive": mean difference that a test at 5 % with this many pairs, fixed in advance, finds with a power of 80 %; null when no two returns of a pair differed',
  ),
  probabilityOfImprovement: probabilityOfImprovementSchema.nullable(),
  warnings: z.array(z.string()).describe('what a reader of these figures must know'),
  failures: failuresSchema.describe('failed episodes of the candidate by cause; each counts with the score that the suite declares'),
});

export const officialComparisonSchema = z
  .strictObject({
    pairs: count.describe('indices folded: episodes of the baseline'),
    episodes: count.describe('folded, of the baseline and all candidates together'),
    endedBy: z
      .enum(['verdicts', 'episodes', 'failures'])
      .nullable()
      .describe(
        'every candidate has its verdict, or the budget in episodes or the recorded baseline has none left for another index, or the first episodes of a checkpoint all failed with the same error; null when it was cut short',
      ),
    confidence: z.number().gt(0).lt(1).describe('1 − α: probability that no verdict of the comparison is wrong'),
    margin: z.number().nonnegative().describe('δ: mean differences up to it do not matter'),
    baselineFailures: failuresSchema.describe('failed episodes of the baseline by cause, over all pairs'),
    candidates: z.array(candidateSchema).describe('in the order in which they were given'),
    warnings: z.array(z.string()).describe('what a reader of the whole comparison must know'),
  })
  .describe('official result of a comparison: decided by checkpoints, suite, confidence, margin and budget of episodes alone');

export type OfficialComparison = z.infer<typeof officialComparisonSchema>;
export type CandidateStatistics = z.infer<typeof candidateSchema>;
export type EvidencePoint = z.infer<typeof pointSchema>;
