import { quantileSorted } from 'simple-statistics';
import { computeBcaInterval } from '../resampling/bca.ts';
import { computeHistogram } from './histogram.ts';
import { computeInterquartileMean } from '../resampling/interquartile-mean.ts';
import { RetainedValues, type TaskedValues } from './retained-values.ts';
import type { OfficialStatistics, Quantiles } from './statistics.ts';
import { StratifiedReturns } from '../resampling/stratified-returns.ts';

/** Resolved returns, and the question about them. Plain data, so that it can be sent to another thread. */
export interface DistributionQuestion extends TaskedValues {
  readonly confidence: number;
  /** Whether an interval that assumes a fixed number of episodes, all of them resolved, may be given. */
  readonly withBca: boolean;
  /** Weights of the tasks, where these were not drawn in proportion to them. */
  readonly weights: readonly number[] | undefined;
}

export type DistributionFigures = Pick<OfficialStatistics, 'bca' | 'iqm' | 'quantiles' | 'histogram'>;

/** Computes the figures, here or elsewhere: equal questions have equal answers. */
export type WorkOut = (question: DistributionQuestion) => Promise<DistributionFigures>;

/** Sorts and resamples: takes some 50 milliseconds of a processor, and one or two seconds for a million returns. */
export function computeDistributionFigures({ values, tasks, confidence, withBca, weights }: DistributionQuestion): DistributionFigures {
  const kept = RetainedValues.share({ values, tasks });
  const sorted = kept.sort();
  const stratified = weights && stratifyReturns(kept, weights);
  const iqm = stratified ? stratified.computeInterquartileMean(confidence) : computeInterquartileMean(kept.groupByTask(), confidence);
  return {
    bca: (withBca ? computeBcaInterval(sorted, confidence) : undefined) ?? null,
    iqm: iqm === undefined ? null : { ...iqm, interval: iqm.interval ?? null },
    quantiles: computeQuantiles(sorted.length, (share) => stratified?.quantile(share) ?? quantileSorted(sorted, share)),
    histogram: computeHistogram(sorted) ?? null,
  };
}

function stratifyReturns(kept: RetainedValues, weights: readonly number[]): StratifiedReturns {
  const strata = kept.groupByPosition().map((values, task) => ({ weight: weights[task] ?? 0, values }));
  return new StratifiedReturns(strata.filter(({ values }) => values.length > 0));
}

function computeQuantiles(count: number, at: (share: number) => number): Quantiles | null {
  if (count === 0) return null;
  return { of: count, p05: at(0.05), p25: at(0.25), p50: at(0.5), p75: at(0.75), p95: at(0.95) };
}
