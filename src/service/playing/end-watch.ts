import type { EvaluationCatalogue } from '../../evaluation-store/evaluation-catalogue.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { News } from './news.ts';

export interface EndWatchOptions {
  readonly evaluations: Pick<EvaluationCatalogue, 'findOver'>;
  readonly news: News;
  readonly clock: Clock;
  /** How often the store is queried. */
  readonly everyMilliseconds: number;
}

/**
 * Announces the end of evaluations that other processes play: queries all of them at once, however many wait. When the store fails, it wakes those
 * who wait: they query by themselves, and get the error.
 */
export class EndWatch {
  readonly #options: EndWatchOptions;
  /** How many wait for each. */
  readonly #awaited = new Map<EvaluationId, number>();
  #timer: Disposable | undefined;
  #isLooking = false;

  constructor(options: EndWatchOptions) {
    this.#options = options;
  }

  /** Announces the end of the evaluation, until disposed. */
  watch(evaluation: EvaluationId): Disposable {
    this.#awaited.set(evaluation, (this.#awaited.get(evaluation) ?? 0) + 1);
    if (!this.#isLooking) this.#timer ??= this.#scheduleLook();
    return { [Symbol.dispose]: () => this.#leave(evaluation) };
  }

  #leave(evaluation: EvaluationId): void {
    const left = (this.#awaited.get(evaluation) ?? 0) - 1;
    if (left > 0) this.#awaited.set(evaluation, left);
    else this.#awaited.delete(evaluation);
    if (this.#awaited.size > 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #scheduleLook(): Disposable {
    return this.#options.clock.after(this.#options.everyMilliseconds, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { evaluations, news } = this.#options;
    const awaited = [...this.#awaited.keys()];
    this.#timer = undefined;
    this.#isLooking = true;
    const over = await evaluations.findOver(awaited).catch(() => awaited);
    this.#isLooking = false;
    for (const evaluation of over) news.announce(evaluation, 'end');
    if (this.#awaited.size > 0) this.#timer = this.#scheduleLook();
  }
}
