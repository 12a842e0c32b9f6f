import { drawIndex, createSeededRandom } from '../../kernel/seeded-random.ts';
import { planResampling, computeShrunkenEnds } from './bootstrap.ts';
import { findCells, findDistinctValues } from './counted-resample.ts';
import { computeMiddleMean, createResampledInterval, poolTasks, type InterquartileMean } from './interquartile-mean.ts';

/**
 * The tolerance of probabilities. A task with constant returns often ends exactly at a quantile, and rounding must not decide on which
 * side.
 */
const ROUNDING = 1e-9;

/** Returns of one task, at least one, and the task's weight. */
export interface Stratum {
  readonly weight: number;
  readonly values: Float64Array;
}

/**
 * The distribution of a return of the suite, from episodes whose tasks were not drawn in proportion to their weights: each of the nₖ returns of task
 * k has the probability wₖ/nₖ (post-stratification; Holt and Smith 1979).
 */
export class StratifiedReturns {
  readonly #strata: readonly { readonly weight: number; readonly cells: Uint32Array }[];
  /** All distinct values, ascending. */
  readonly #values: Float64Array;
  /** One probability for each task. */
  readonly #probabilities: Float64Array;

  constructor(strata: readonly Stratum[]) {
    const total = strata.reduce((sum, { weight }) => sum + weight, 0);
    this.#values = findDistinctValues(poolTasks(strata.map(({ values }) => values)).sort());
    this.#strata = strata.map(({ weight, values }) => ({ weight: weight / total, cells: findCells(values.toSorted(), this.#values) }));
    this.#probabilities = new Float64Array(this.#values.length);
    for (const { weight, cells } of this.#strata)
      for (const cell of cells) this.#probabilities[cell] = (this.#probabilities[cell] ?? 0) + weight / cells.length;
  }

  /** Returns the least return that is not exceeded with this probability. NaN without returns. */
  quantile(probability: number): number {
    let [cell, reached] = [0, this.#probabilities[0] ?? 1];
    while (reached < probability - ROUNDING && cell < this.#values.length - 1) {
      cell += 1;
      reached += this.#probabilities[cell] ?? 0;
    }
    return this.#values[cell] ?? Number.NaN;
  }

  /** Computes the mean between the quartiles of the distribution, with a bootstrap that resamples within each task. */
  computeInterquartileMean(confidence: number): InterquartileMean | undefined {
    const value = computeMiddleMean(this.#values, this.#probabilities, 0.25, 0.75);
    if (!Number.isFinite(value)) return undefined;
    if (this.#strata.every(({ cells }) => cells.length < 2)) return { value, interval: undefined, replicates: 0 };
    const { draws, share, replicates } = planResampling(this.#strata.map(({ cells }) => cells.length));
    const random = createSeededRandom('interquartile mean', 0);
    const probabilities = new Float64Array(this.#values.length);
    const resampled = Array.from({ length: replicates }, () => {
      probabilities.fill(0);
      for (const [task, { weight, cells }] of this.#strata.entries()) {
        const drawn = draws[task] ?? 0;
        for (let draw = 0; draw < drawn; draw += 1) {
          const cell = cells[drawIndex(random, cells.length)] ?? 0;
          probabilities[cell] = (probabilities[cell] ?? 0) + weight / drawn;
        }
      }
      return computeMiddleMean(this.#values, probabilities, 0.25, 0.75);
    });
    const ends = computeShrunkenEnds(resampled, confidence, value, share);
    return { value, interval: createResampledInterval(ends, confidence), replicates };
  }
}
