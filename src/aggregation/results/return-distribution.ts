import { MOST_BCA_VALUES } from '../resampling/bca.ts';
import type { DistributionQuestion } from './distribution-figures.ts';
import { RetainedValues } from './retained-values.ts';
import { lookAtReturns, MOST_LOOKED_AT } from './running-returns.ts';

/** With fewer episodes a task, resampling within tasks understates the standard error by more than a tenth: the factor is √(1 − 1/n). */
const FEW_PER_TASK = 5;

/** The resolved returns themselves, as far as they are stored, for figures that need them. */
export class ReturnDistribution {
  readonly #values = new RetainedValues();
  readonly #tasks = new Set<number>();
  #count = 0;

  /** @param task position of the episode's task in the suite, at most 65,535. */
  add(value: number, task: number): void {
    this.#count += 1;
    this.#tasks.add(task);
    this.#values.add(value, task);
  }

  /**
   * Returns the values from which its figures are computed, as of now.
   *
   * @param withBca whether an interval that assumes a fixed number of episodes, all of them resolved, may be given. @param weights of the tasks,
   * where these were not drawn in proportion to them; undefined where they were.
   */
  buildQuestion(confidence: number, withBca: boolean, weights?: readonly number[]): DistributionQuestion {
    return { ...this.#values.copy(), confidence, withBca, weights };
  }

  /** Looks at the first returns, as they were played. */
  look(): ReturnType<typeof lookAtReturns> {
    return lookAtReturns(this.#values.copyFirst(MOST_LOOKED_AT));
  }

  /** @param withBca as in `buildQuestion`. */
  listWarnings(withBca: boolean): string[] {
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
}
