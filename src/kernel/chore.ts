import type { Clock } from './clock.ts';

/**
 * Work that runs when it is opened and again and again until it is closed: after the pause that the work returns, or at once after `look`.
 * Runs never overlap.
 */
export class Chore {
  readonly #clock: Clock;
  readonly #work: (closing: AbortSignal) => Promise<number>;
  readonly #closing = new AbortController();
  #isOpen = false;
  #timer: Disposable | undefined;
  #working: Promise<void> | undefined;
  /** Whether `look` was called during a run. */
  #isToLookAgain = false;

  /** @param work never rejects; it ends early when the signal is aborted. @returns milliseconds until the next run. */
  constructor(clock: Clock, work: (closing: AbortSignal) => Promise<number>) {
    this.#clock = clock;
    this.#work = work;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(): void {
    this.#isOpen = true;
    this.look();
  }

  /** Runs the work soon: there may be something to do. */
  look(): void {
    if (!this.#isOpen) return;
    if (this.#working) {
      this.#isToLookAgain = true;
      return;
    }
    this.#timer?.[Symbol.dispose]();
    this.#working = this.#work(this.#closing.signal).then((milliseconds) => this.#goOn(milliseconds));
  }

  #goOn(milliseconds: number): void {
    this.#working = undefined;
    if (!this.#isOpen) return;
    if (!this.#isToLookAgain) this.#timer = this.#clock.after(milliseconds, () => this.look());
    else {
      this.#isToLookAgain = false;
      this.look();
    }
  }

  /** Resolves when no run is under way any more. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#timer?.[Symbol.dispose]();
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    await this.#working;
  }
}
