import { systemClock, type Clock } from '../../src/kernel/clock.ts';

/** The system's clock, some times as fast: deadlines of seconds pass in a fraction of them. */
export class HurriedClock implements Clock {
  readonly #factor: number;

  constructor(factor: number) {
    this.#factor = factor;
  }

  now(): number {
    return systemClock.now() * this.#factor;
  }

  date(): Date {
    return systemClock.date();
  }

  after(delayMs: number, callback: () => void): Disposable {
    return systemClock.after(delayMs / this.#factor, callback);
  }
}
