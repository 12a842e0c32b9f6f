import { buildErrorKey, type Outcome } from '../../kernel/outcome.ts';

/**
 * When this many episodes all failed with the same error, the suite, the environment or the checkpoint counts as broken. A policy of which 4 in 5
 * episodes fail that way is misjudged with a probability of 3 %; more episodes would only delay what is nearly always certain.
 */
export const FAILING_START = 16;

/**
 * The same number where each episode reached its time limit, since every further one costs that time again. A policy of which every second episode
 * does so is misjudged with a probability of 3 %.
 */
const HANGING_START = 5;

/** Whether the first episodes, in index order, all failed with the same error. Only these decide it. */
export class FailingStart {
  #episodes = 0;
  #error: string | undefined;
  #enough = FAILING_START;
  #isSame = true;

  /** Adds the next episode. @param outcome as judged, with its detail. */
  fold(outcome: Outcome): void {
    if (!this.#isSame || this.#episodes >= this.#enough) return;
    this.#episodes += 1;
    if (outcome.kind === 'failed' && outcome.cause === 'timeout') this.#enough = HANGING_START;
    const error = outcome.kind === 'failed' ? buildErrorKey(outcome) : undefined;
    this.#error ??= error;
    this.#isSame = error !== undefined && error === this.#error;
  }

  get isFailing(): boolean {
    return this.#isSame && this.#episodes >= this.#enough;
  }
}
