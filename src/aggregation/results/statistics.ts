import { z } from 'zod';
import { failuresSchema } from '../folding/failure-counts.ts';
import { INTERVAL_METHODS } from '../intervals/intervals.ts';

/**
 * The official result of an evaluation: a function of its checkpoint, suite and stopping rule alone.
 *
 * It does not depend on the number of sandboxes, on when episodes arrived, or on what was retried. Keys have the order given here and none is left
 * out (`null` says that a figure does not exist), so equal results are equal byte for byte as JSON. Figures are in units of the return unless they
 * say otherwise.
 */

const count = z.int().nonnegative();
const figure = z.number().nullable();
/** The reason where returns decide neither the number of episodes nor their tasks. */
const FIXED = 'the number of episodes was fixed in advance and tasks were drawn by weight';

const intervalSchema = z
  .strictObject({
    low: z.number(),
    high: z.number(),
    confidence: z.number().gt(0).lt(1).describe('nominal probability that the interval holds the true mean'),
    method: z.enum(INTERVAL_METHODS),
    guarantee: z.string().describe('what the confidence promises'),
  })
  .describe('confidence interval; its centre need not be the mean');

const quantilesSchema = z
  .strictObject({
    of: count.describe('how many values these are the exact quantiles of: every resolved episode, up to the first million'),
    p05: z.number(),
    p25: z.number(),
    p50: z.number(),
    p75: z.number(),
    p95: z.number(),
  })
  .describe(
    'interpolated linearly between neighbouring values; with adaptive allocation not interpolated, and of a return of the suite: tasks count by weight',
  );

const taskSchema = z.strictObject({
  name: z.string(),
  weight: z.number().describe("the task's share of the mean, and unless allocation is adaptive of the episodes; all shares sum to 1"),
  episodes: count,
  unresolved: count,
  mean: figure.describe('over the resolved episodes'),
  standardError: figure,
  interval: intervalSchema.nullable().describe(`only where ${FIXED}`),
});

const metricSchema = z.strictObject({
  name: z.string(),
  count: count.describe('completed episodes that reported a finite number'),
  missing: count.describe('completed episodes that did not'),
  mean: figure,
  standardDeviation: figure,
  min: figure,
  max: figure,
});

const estimateSchema = z.strictObject({ mean: figure, standardError: figure });

const taskPopulationSchema = z
  .strictObject({
    mean: figure,
    standardError: figure.describe('clustered by task'),
    tasks: count.describe('of which there are resolved episodes'),
    interval: intervalSchema.nullable().describe('kept within the bounds; null for fewer than 3 tasks'),
  })
  .describe(
    'mean over all tasks that these could have been drawn from; returns on one task may depend on each other. With adaptive allocation a task counts by its weight, otherwise by its resolved episodes',
  );

const worstCaseSchema = z
  .strictObject({ low: z.number(), high: z.number() })
  .describe('mean over all episodes if every unresolved one had had the lowest return, and if it had had the highest');

const certaintySchema = z
  .strictObject({
    knownVarianceEpisodes: count.describe(
      'n* = max(2, ⌈(z·s/h)²⌉), what a normal interval would have needed, had the deviation s been known beforehand',
    ),
    extraEpisodes: z.int().describe('episodes − n*; below 0 when the evaluation ended before it had as many'),
  })
  .describe('price of not knowing the variance and of looking at the returns, in episodes');

const interquartileMeanSchema = z
  .strictObject({
    value: z.number(),
    interval: intervalSchema.nullable(),
    replicates: count.describe('of the bootstrap, which resamples within each task'),
  })
  .describe('mean of the middle half of the resolved returns; with adaptive allocation tasks count by weight');

const taskEstimateSchema = z.strictObject({
  value: figure.describe('null where a task has fewer than k resolved episodes'),
  low: figure.describe('of the percentile interval of a bootstrap that resamples tasks; null for one task'),
  high: figure,
});

const successSchema = z
  .strictObject({
    threshold: z.number().describe('an episode succeeds with this score or a higher one'),
    count: count.describe('resolved episodes that succeeded'),
    rate: figure.describe(
      'of the resolved episodes; with adaptive allocation Σ wₖ·rateₖ over the tasks, null while one of them has no resolved episode',
    ),
    clopperPearson: intervalSchema.nullable().describe(`for the rate, never below its confidence; only where ${FIXED}`),
    pass: z.array(
      z.strictObject({
        k: z.int().positive(),
        anyOf: taskEstimateSchema.describe('pass@k: that one at least of k attempts at a task succeeds; mean over tasks'),
        allOf: taskEstimateSchema.describe('pass^k: that all of k attempts at a task succeed; mean over tasks'),
      }),
    ),
  })
  .describe('successes; null unless the suite says what a success is');

const histogramSchema = z
  .strictObject({
    edges: z
      .array(z.number())
      .describe('ascending, one more than there are counts; a bin reaches from its lower edge to below its upper one'),
    counts: z.array(count),
  })
  .describe('resolved returns, as they were played, in at most 40 bins; of the first million');

const coursePointSchema = z.strictObject({ episodes: count, mean: figure, low: figure, high: figure });

export const officialStatisticsSchema = z
  .strictObject({
    episodes: count.describe('folded in index order, from index 0 on'),
    resolved: count.describe('of these, with a score: completed or failed'),
    unresolved: count.describe('of these, lost to infrastructure for good; they widen the interval'),
    endedBy: z
      .enum(['rule', 'episodes', 'failures'])
      .nullable()
      .describe(
        'what ended the evaluation: the stopping rule, the budget in episodes, or its first episodes, which all failed with the same error; null when it was cut short',
      ),
    mean: figure.describe(
      "estimate of the suite's mean from the resolved episodes: the mean of their returns, or with adaptive allocation of what they count for, kept within the bounds",
    ),
    biasReducedMean: figure.describe(
      'the mean, less the bias that it has because the returns decided when to stop: the one to quote; the mean itself where they did not',
    ),
    variance: figure.describe('sample variance of what the mean is taken of, with divisor n − 1'),
    standardError: figure.describe('of the mean'),
    min: figure,
    max: figure,
    interval: intervalSchema.nullable().describe('for the mean; reaches over everything that unresolved episodes could have returned'),
    targetHalfWidth: figure.describe('half-width of the interval that the stopping rule aimed at'),
    worstCase: worstCaseSchema.nullable().describe('null where no bounds limit what unresolved episodes could have returned'),
    certainty: certaintySchema.nullable().describe('only where the stopping rule aimed at a half-width'),
    bca: intervalSchema
      .nullable()
      .describe(`bootstrap interval for the mean, a secondary figure; only where ${FIXED}, and all are resolved`),
    iqm: interquartileMeanSchema.nullable(),
    quantiles: quantilesSchema.nullable(),
    histogram: histogramSchema.nullable(),
    success: successSchema.nullable(),
    failures: failuresSchema.describe('failed episodes by cause; each counts with the score that the suite declares'),
    failedShare: figure.describe('of the resolved episodes; null when there is none'),
    meanLength: figure.describe('environment steps of a completed episode'),
    tasks: z.array(taskSchema),
    metrics: z.array(metricSchema),
    estimands: z
      .strictObject({
        thisSuite: estimateSchema.describe('Σ wₖ·x̄ₖ over exactly these tasks with their weights; SE² = Σ wₖ²·sₖ²/nₖ'),
        taskPopulation: taskPopulationSchema.nullable().describe('null for a suite of one task'),
      })
      .describe('means that the episodes estimate, beside the plain one'),
    course: z
      .array(coursePointSchema)
      .describe('mean and interval as they went along: at most 128 points, evenly spaced in episodes, and the last episode'),
    warnings: z.array(z.string()).describe('what a reader of these figures must know'),
  })
  .describe('official result of an evaluation: decided by checkpoint, suite and stopping rule alone');

export type OfficialStatistics = z.infer<typeof officialStatisticsSchema>;
export type TaskStatistics = z.infer<typeof taskSchema>;
export type MetricStatistics = z.infer<typeof metricSchema>;
export type Estimate = z.infer<typeof estimateSchema>;
export type TaskPopulation = z.infer<typeof taskPopulationSchema>;
export type WorstCase = z.infer<typeof worstCaseSchema>;
export type Certainty = z.infer<typeof certaintySchema>;
export type TaskEstimate = z.infer<typeof taskEstimateSchema>;
export type SuccessStatistics = z.infer<typeof successSchema>;
export type Histogram = z.infer<typeof histogramSchema>;
export type CoursePoint = z.infer<typeof coursePointSchema>;
export type Quantiles = z.infer<typeof quantilesSchema>;
