import { InputError } from '../../kernel/errors.ts';

export interface ComparisonBudgetOptions {
  /** For all arms together, the baseline among them, recorded or not: so the result is the same either way. */
  readonly budgetEpisodes?: number | undefined;
  /** How many episodes there are of a baseline that was recorded earlier. */
  readonly baselineEpisodes?: number | undefined;
}

/** How far a comparison may go. An index takes an episode of every arm that takes part in it, and is played by all of them or not at all. */
export class ComparisonBudget {
  readonly #budget: number;
  readonly #recorded: number;
  #indices = 0;
  #episodes = 0;

  /** @param arms that take part in the first index. @throws InputError when there is not enough for one index. */
  constructor({ budgetEpisodes = Infinity, baselineEpisodes = Infinity }: ComparisonBudgetOptions, arms: number) {
    if (!(budgetEpisodes >= arms)) {
      throw new InputError(
        'comparison.budget',
        `budget.episodes: a comparison of ${arms} checkpoints takes ${arms} episodes an index, got ${budgetEpisodes} in all; allow for more`,
      );
    }
    if (!(baselineEpisodes >= 1)) {
      throw new InputError(
        'comparison.baseline',
        `baseline: expected a recording of at least one episode, got ${baselineEpisodes}; record it again, or play the baseline along`,
      );
    }
    this.#budget = budgetEpisodes;
    this.#recorded = baselineEpisodes;
  }

  /** Takes account of one more index. */
  spend(arms: number): void {
    this.#indices += 1;
    this.#episodes += arms;
  }

  /** Spent, over all arms. */
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

  /** Further indices, if so many arms take part in all of them; Infinity when nothing sets a limit. */
  countIndicesLeft(arms: number): number {
    return Math.max(0, Math.min(Math.floor((this.#budget - this.#episodes) / arms), this.#recorded - this.#indices));
  }

  /** Most further indices: those there would be if all candidates but one were settled by the next, for which so many arms are due. */
  boundIndicesLeft(arms: number): number {
    if (this.countIndicesLeft(arms) === 0) return 0;
    const afterNext = Math.floor((this.#budget - this.#episodes - arms) / 2);
    return Math.min(1 + afterNext, this.#recorded - this.#indices);
  }
}
