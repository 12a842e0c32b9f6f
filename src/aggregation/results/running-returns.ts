import { quantileSorted } from 'simple-statistics';
import type { z } from 'zod';
import { computeHistogram } from './histogram.ts';
import { officialStatisticsSchema, type Quantiles } from './statistics.ts';

/** What the official result would say about the returns that were folded so far. */
export const runningReturnsSchema = officialStatisticsSchema
  .pick({
    resolved: true,
    mean: true,
    min: true,
    max: true,
    interval: true,
    quantiles: true,
    histogram: true,
    failures: true,
    tasks: true,
  })
  .describe('of the episodes so far; histogram and quantiles of the first 100,000 as they were played');

export type RunningReturns = z.infer<typeof runningReturnsSchema>;

/** Sorting this many takes some 10 ms. */
export const MOST_LOOKED_AT = 100_000;

/** @param values are sorted in place. */
export function lookAtReturns(values: Float64Array): Pick<RunningReturns, 'histogram' | 'quantiles'> {
  const sorted = Array.from(values.sort());
  const at = (share: number): number => quantileSorted(sorted, share);
  const quantiles: Quantiles | null =
    sorted.length === 0 ? null : { of: sorted.length, p05: at(0.05), p25: at(0.25), p50: at(0.5), p75: at(0.75), p95: at(0.95) };
  return { histogram: computeHistogram(sorted) ?? null, quantiles };
}
