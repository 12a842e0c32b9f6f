import type { Clock } from '../kernel/clock.ts';

/**
 * A deadline that is moved far more often than it passes: moving it costs a reading of the clock, not a timer. The
 * pending timer looks, when it fires, whether the deadline has moved, and if so waits for the rest.
 *
 * An episode is not blamed for a process that stood still. What came in meanwhile waits in a pipe, and timers run before pipes
 * are read; so a deadline that has passed is put off once, by as much as the timer was late, and by one turn at least.
 */
export class Watchdog {
  readonly #clock: Clock;
  readonly #onDeadline: () => void;
  #startedAt = 0;
  #deadline: number | undefined;
  #timer: Disposable | undefined;
  #timerAt = 0;
  #isPutOff = false;

  constructor(clock: Clock, onDeadline: () => void) {
    this.#clock = clock;
    this.#onDeadline = onDeadline;
  }

  restart(limitMilliseconds: number): void {
    this.#startedAt = this.#clock.now();
    this.#isPutOff = false;
    this.#deadline = this.#startedAt + limitMilliseconds;
    if (this.#timer && this.#timerAt <= this.#deadline) return;
    this.#setTimer(limitMilliseconds);
  }

  /** No deadline until the next restart, which is likely soon: a pending timer stays, and does nothing should it fire. */
  pause(): void {
    this.#deadline = undefined;
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#deadline = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  /** Since the last restart. */
  get elapsedMilliseconds(): number {
    return this.#clock.now() - this.#startedAt;
  }

  #setTimer(delay: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timerAt = this.#clock.now() + delay;
    this.#timer = this.#clock.after(delay, () => this.#onTimer());
  }

  #onTimer(): void {
    this.#timer = undefined;
    if (this.#deadline === undefined) return;
    const now = this.#clock.now();
    const left = this.#deadline - now;
    if (left > 0) return this.#setTimer(left);
    if (this.#isPutOff) return this.#onDeadline();
    this.#isPutOff = true;
    this.#setTimer(Math.max(1, now - this.#timerAt));
  }
}
