import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/clock.ts';

/** The system's clock, with hours that can be skipped: short waits on the operating system pass by themselves, long ones at once. */
export class SkippableClock implements Clock {
  #skippedMs = 0;
  readonly #timers = new Map<object, { readonly due: number; readonly fire: () => void }>();

  now(): number {
    return systemClock.now() + this.#skippedMs;
  }

  date(): Date {
    return new Date(systemClock.date().getTime() + this.#skippedMs);
  }

  after(delayMs: number, callback: () => void): Disposable {
    const key = {};
    const fire = (): void => {
      dispose();
      callback();
    };
    const timer = systemClock.after(delayMs, fire);
    const dispose = (): void => {
      timer[Symbol.dispose]();
      this.#timers.delete(key);
    };
    this.#timers.set(key, { due: this.now() + delayMs, fire });
    return { [Symbol.dispose]: dispose };
  }

  skip(milliseconds: number): void {
    this.#skippedMs += milliseconds;
    for (const { due, fire } of this.#timers.values()) if (due <= this.now()) fire();
  }

  /** Timers that have neither fired nor been disposed. */
  get pending(): number {
    return this.#timers.size;
  }
}
