import type { Clock } from '../../kernel/clock.ts';

/**
 * Why an evaluation is not played to its end. `cancelled`: by a caller. `deadline`: its deadline has passed. `drained`: this process ends. `lost`:
 * another process plays it.
 */
export type StopReason = 'cancelled' | 'deadline' | 'drained' | 'lost';

/** Stops an evaluation: the first reason counts, except that `lost` overrides all others. */
export class Stop implements Disposable {
  readonly #clock: Clock;
  readonly #any = new AbortController();
  readonly #lost = new AbortController();
  #reason: StopReason | undefined;
  #alarm: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get reason(): StopReason | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    return this.#any.signal;
  }

  /** Aborted only when another process plays it, or this one ends. */
  get untilLost(): AbortSignal {
    return this.#lost.signal;
  }

  stopNow(reason: StopReason): void {
    if (reason === 'lost') this.#reason = reason;
    this.#reason ??= reason;
    const why = new DOMException(`the evaluation was stopped: ${reason}`, 'AbortError');
    if (reason === 'lost' || reason === 'drained') this.#lost.abort(why);
    this.#any.abort(why);
  }

  stopAt(deadline: Date): void {
    const milliseconds = deadline.getTime() - this.#clock.date().getTime();
    if (milliseconds <= 0) return this.stopNow('deadline');
    this.#alarm = this.#clock.after(milliseconds, () => this.stopNow('deadline'));
  }

  [Symbol.dispose](): void {
    this.#alarm?.[Symbol.dispose]();
  }
}
