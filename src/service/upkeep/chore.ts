import type { Clock } from '../../kernel/clock.ts';

/** Something that is done at once when it is opened, and again so many milliseconds after its end, until it is closed for good. */
export class Chore {
  readonly #clock: Clock;
  readonly #everyMilliseconds: number;
  readonly #work: (closing: AbortSignal) => Promise<void>;
  readonly #closing = new AbortController();
  #timer: Disposable | undefined;
  #working: Promise<void> = Promise.resolve();

  /** @param work never rejects; it ends early when the signal is aborted. */
  constructor(clock: Clock, everyMilliseconds: number, work: (closing: AbortSignal) => Promise<void>) {
    this.#clock = clock;
    this.#everyMilliseconds = everyMilliseconds;
    this.#work = work;
  }

  open(): void {
    const { signal } = this.#closing;
    this.#working = this.#work(signal).finally(() => {
      if (!signal.aborted) this.#timer = this.#clock.after(this.#everyMilliseconds, () => this.open());
    });
  }

  /** Resolves when nothing of it is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    this.#timer?.[Symbol.dispose]();
    await this.#working;
  }
}
