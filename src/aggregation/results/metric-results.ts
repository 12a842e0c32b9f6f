import { toFigure } from '../intervals/figure.ts';
import { Moments } from '../intervals/moments.ts';
import type { MetricStatistics } from './statistics.ts';

/** Moments of the metrics that a suite requests, over completed episodes. */
export class MetricResults {
  readonly #metrics: readonly { readonly name: string; readonly moments: Moments }[];
  #completed = 0;

  constructor(names: readonly string[]) {
    this.#metrics = names.map((name) => ({ name, moments: new Moments() }));
  }

  /** A metric that is absent or not finite is counted as missing, since one such value would void the mean of all. */
  add(measured: Readonly<Record<string, number>>): void {
    this.#completed += 1;
    for (const { name, moments } of this.#metrics) {
      const value = measured[name];
      if (value !== undefined && Number.isFinite(value)) moments.add(value);
    }
  }

  listStatistics(): MetricStatistics[] {
    return this.#metrics.map(({ name, moments }) => ({
      name,
      count: moments.count,
      missing: this.#completed - moments.count,
      mean: toFigure(moments.mean),
      standardDeviation: toFigure(moments.standardDeviation),
      min: toFigure(moments.min),
      max: toFigure(moments.max),
    }));
  }
}
