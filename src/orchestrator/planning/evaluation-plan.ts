import { z } from 'zod';
import { stoppingSchema } from '../suite/suite.ts';
import { digestSchema } from '../results/summary.ts';

const spreadSchema = z
  .strictObject({ low: z.number(), median: z.number(), high: z.number() })
  .describe('5 % quantile, median and 95 % quantile over the simulated evaluations');

const forecastSchema = z.strictObject({
  stop: stoppingSchema,
  halfWidth: z
    .number()
    .nullable()
    .describe('of the interval, in units of the return: what the rule aims at, or what a fixed number of episodes is likely to give'),
  episodes: spreadSchema.describe('episodes of the official result; whole numbers'),
  shareCut: z.number().min(0).max(1).describe('of the evaluations that the budget of episodes ends before the rule is satisfied'),
  shareGivenUp: z
    .number()
    .min(0)
    .max(1)
    .describe('of the evaluations that were too long to simulate: they take more episodes than the plan says'),
  simulation: z
    .strictObject({
      runs: z.int().describe('simulated evaluations'),
      episodes: z.int().describe('simulated episodes, in all runs'),
      halfWidth: z
        .number()
        .describe("of the rule that was simulated; wider than the rule's own where that takes too long, and the episodes are extrapolated"),
    })
    .nullable()
    .describe('null where the number of episodes is certain'),
  sandboxSeconds: spreadSchema.nullable().describe('time of all sandboxes together, in episodes; null without a measured episode'),
  seconds: spreadSchema.nullable().describe('wall clock with all sandboxes busy; without their start and a last straggler'),
  cost: spreadSchema.nullable().describe('sandboxSeconds at the price of the template; null when it has none'),
});

const returnsSchema = z
  .strictObject({
    from: z
      .enum(['episodes', 'histogram', 'moments', 'bounds'])
      .describe(
        "source of the returns: the baseline's episodes, resampled by task; the histogram of its summary; two returns with the mean and variance of its summary; without a baseline the worst case, half of the episodes on each bound",
      ),
    observed: z.int().nullable().describe('number of recorded returns; null for assumed ones'),
    mean: z.number(),
    standardDeviation: z.number(),
  })
  .describe('distribution of the simulated returns');

/** What an evaluation is expected to take: a function of suite, stopping rule, baseline and configuration alone. */
export const planSchema = z
  .strictObject({
    schema: z.literal('muster.plan/1'),
    suite: z.strictObject({ name: z.string(), digest: digestSchema }),
    budget: z
      .strictObject({ episodes: z.int().nullable(), seconds: z.number().nullable(), cost: z.number().nullable() })
      .describe("the suite's; null for no bound"),
    baseline: z
      .strictObject({ file: z.string().describe('summary that it was read from'), checkpoint: digestSchema })
      .nullable()
      .describe('earlier evaluation on the same suite'),
    returns: returnsSchema.nullable().describe('null when nothing is known of them'),
    sandboxes: z.int().describe('at a time'),
    episodeSeconds: z.number().nullable().describe('mean time of an episode in its sandbox, as the baseline measured it'),
    costPerSandboxHour: z.number().nullable().describe("of the suite's template"),
    leastEpisodes: z.int().describe('what the stopping rule takes at least: when all returns are the same'),
    forecast: forecastSchema.describe('for the stopping rule that was asked for'),
    others: z.array(forecastSchema).describe('for the other rules that could aim at the same half-width'),
    knownVarianceEpisodes: z
      .number()
      .nullable()
      .describe('what a normal interval would need for the half-width, were the deviation of the returns known; null for "fixed"'),
    warnings: z.array(z.string()),
  })
  .describe('Plan of a Muster evaluation: what it will take, before any of it is played');

export type EvaluationPlan = z.infer<typeof planSchema>;
export type PlanForecast = z.infer<typeof forecastSchema>;
