import { quantileSorted } from 'simple-statistics';
import { bcaInterval, MOST_BCA_VALUES } from './bca.ts';
import { histogram } from './histogram.ts';
import { interquartileMean } from './interquartile-mean.ts';
import { KeptValues } from './kept-values.ts';
import type { OfficialStatistics, Quantiles } from './statistics.ts';
import { StratifiedReturns } from './stratified-returns.ts';

/** With fewer episodes to a task, resampling within tasks understates the standard error by more than a tenth: the factor is √(1 − 1/n). */
const FEW_PER_TASK = 5;

type DistributionFigures = Pick<OfficialStatistics, 'bca' | 'iqm' | 'quantiles' | 'histogram'>;

/** The resolved returns themselves, as far as they are kept, and the figures that need them. */
export class ReturnDistribution {
  readonly #values = new KeptValues();
  readonly #tasks = new Set<number>();
  #count = 0;

  /** @param task position of the episode's task in the suite, at most 65,535. */
  add(value: number, task: number): void {
    this.#count += 1;
    this.#tasks.add(task);
    this.#values.add(value, task);
  }

  /**
   * Sorts and resamples: takes some 50 milliseconds, and half a second for a million returns.
   *
   * @param withBca whether there may be an interval that presumes a fixed number of episodes, all of them resolved.
   * @param weights of the tasks, where these have not come up in proportion to them; undefined where they have.
   */
  figures(confidence: number, withBca: boolean, weights?: readonly number[]): DistributionFigures {
    const sorted = this.#values.sorted();
    const stratified = weights && this.#stratified(weights);
    const iqm = stratified ? stratified.interquartileMean(confidence) : interquartileMean(this.#values.byTask(), confidence);
    return {
      bca: (withBca ? bcaInterval(sorted, confidence) : undefined) ?? null,
      iqm: iqm === undefined ? null : { ...iqm, interval: iqm.interval ?? null },
      quantiles: quantilesOf(sorted.length, (share) => stratified?.quantile(share) ?? quantileSorted(sorted, share)),
      histogram: histogram(sorted) ?? null,
    };
  }

  /** @param withBca as above. */
  warnings(withBca: boolean): string[] {
    const warnings: string[] = [];
    if (this.#values.count < this.#count)
      warnings.push(
        `Quantiles, histogram and interquartile mean are of the first ${this.#values.count} resolved episodes; the values of later ones are not kept.`,
      );
    if (withBca && this.#count > MOST_BCA_VALUES) warnings.push(`There is no BCa interval for more than ${MOST_BCA_VALUES} episodes.`);
    if (this.#tasks.size > 1 && this.#count < FEW_PER_TASK * this.#tasks.size)
      warnings.push(
        `The interval of the interquartile mean is too narrow: ${this.#tasks.size} tasks share ${this.#count} resolved episodes, and it takes ${FEW_PER_TASK} or more of each.`,
      );
    return warnings;
  }

  #stratified(weights: readonly number[]): StratifiedReturns {
    const strata = this.#values.byPosition().map((values, task) => ({ weight: weights[task] ?? 0, values }));
    return new StratifiedReturns(strata.filter(({ values }) => values.length > 0));
  }
}

function quantilesOf(count: number, at: (share: number) => number): Quantiles | null {
  if (count === 0) return null;
  return { of: count, p05: at(0.05), p25: at(0.25), p50: at(0.5), p75: at(0.75), p95: at(0.95) };
}
