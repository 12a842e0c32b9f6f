import { InputError } from '../../kernel/errors.ts';

export interface ComparisonBudgetOptions {
  /** The budget of all arms together. It includes the baseline even when it was recorded, so that the result is the same either way. */
  readonly budgetEpisodes?: number | undefined;
  readonly baselineEpisodes?: number | undefined;
}

/** Bounds how far a comparison may go. Every participating arm plays one episode of an index, or none does. */
export class ComparisonBudget {
  readonly #budget: number;
  readonly #recorded: number;
  #indices = 0;
  #episodes = 0;

  /** @param arms that take part in the first index. @throws InputError when the budget is less than one index. */
  constructor({ budgetEpisodes = Infinity, baselineEpisodes = Infinity }: ComparisonBudgetOptions, arms: number) {
    if (!(budgetEpisodes >= arms)) {
      throw new InputError(
        'comparison.budget',
        `budget.episodes: a comparison of ${arms} checkpoints needs ${arms} episodes for each index, got ${budgetEpisodes} in total; raise the budget`,
      );
    }
    if (!(baselineEpisodes >= 1)) {
      throw new InputError(
        'comparison.baseline',
        `baseline: expected a recording of at least one episode, got ${baselineEpisodes}; record it again, or give the checkpoint of the baseline`,
      );
    }
    this.#budget = budgetEpisodes;
    this.#recorded = baselineEpisodes;
  }

  /** Counts one more index. */
  spend(arms: number): void {
    this.#indices += 1;
    this.#episodes += arms;
  }

  /** Episodes spent, over all arms. */
  get episodes(): number {
    return this.#episodes;
  }

  get isBaselineRecorded(): boolean {
    return this.#recorded !== Infinity;
  }

  /** Whether every episode of the recorded baseline is used. */
  get isBaselineSpent(): boolean {
    return this.#indices >= this.#recorded;
  }

  /** Counts the further indices if this many arms take part in all of them; Infinity without a limit. */
  countIndicesLeft(arms: number): number {
    return Math.max(0, Math.min(Math.floor((this.#budget - this.#episodes) / arms), this.#recorded - this.#indices));
  }

  /** Bounds the number of further indices: as many as there would be if the next index, which this many arms play, settled all candidates but one. */
  boundIndicesLeft(arms: number): number {
    if (this.countIndicesLeft(arms) === 0) return 0;
    const afterNext = Math.floor((this.#budget - this.#episodes - arms) / 2);
    return Math.min(1 + afterNext, this.#recorded - this.#indices);
  }
}
