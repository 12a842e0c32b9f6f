import type { Clock } from '../kernel/clock.ts';

/**
 * A deadline that is moved far more often than it passes: moving it costs a reading of the clock, not a timer. When the pending timer
 * fires, it checks whether the deadline has moved, and waits for the rest if so.
 *
 * An episode is not blamed when Muster's process stood still. What arrived meanwhile waits in a pipe, and timers run before pipes are read;
 * so a deadline that has passed is postponed once, by as much as the timer was late, and by at least one turn.
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

  /** Removes the deadline until the next restart, which is likely soon: the pending timer stays, and has no effect should it fire. */
  pause(): void {
    this.#deadline = undefined;
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#deadline = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  /** Milliseconds since the last restart. */
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
