import type { Clock } from '../../../kernel/clock.ts';

/** Time that runs while a program acts, and stands still while it waits for its model: how busy a model server is changes no result. */
export class ActingTime implements Disposable {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #since: number | undefined;
  #timer: Disposable | undefined;
  #spentMs = 0;

  /** Begins at once. @param onOver called once, when it is over. */
  constructor(clock: Clock, seconds: number, onOver: () => void) {
    this.#clock = clock;
    this.#leftMs = seconds * 1000;
    this.#onOver = onOver;
    this.go();
  }

  get spentSeconds(): number {
    return (this.#spentMs + (this.#since === undefined ? 0 : this.#clock.now() - this.#since)) / 1000;
  }

  go(): void {
    if (this.#since !== undefined) return;
    this.#since = this.#clock.now();
    this.#timer = this.#clock.after(this.#leftMs, this.#onOver);
  }

  stand(): void {
    if (this.#since === undefined) return;
    const ran = this.#clock.now() - this.#since;
    this.#timer?.[Symbol.dispose]();
    this.#since = undefined;
    this.#spentMs += ran;
    this.#leftMs = Math.max(0, this.#leftMs - ran);
  }

  [Symbol.dispose](): void {
    this.stand();
  }
}
