import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../src/kernel/clock.ts';

/** Of this clock, for a millisecond of the machine's at least: who waits a minute for a disk waits more than two seconds for it. */
const BESIDE_MS = 25;

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#now);
  }

  after(delayMs: number, callback: () => void): Disposable {
    const timer = { at: this.#now + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** Timers that wait: none may be left at the end of a test. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Runs what is due within `ms`, in order of time, letting promises settle before the first and after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settle();
    }
    this.#now = end;
  }

  /** Advances in steps until it is so, for `mostMs` at most. */
  async advanceUntil(isSo: () => boolean, mostMs: number, stepMs = 1): Promise<void> {
    for (const end = this.#now + mostMs; !isSo() && this.#now < end;) await this.advance(stepMs);
  }

  /** Advances in steps until the promise is settled, for `mostMs` at most. */
  async advanceFor<Value>(promise: Promise<Value>, mostMs: number, stepMs = 1): Promise<Value> {
    const state = { isSettled: false };
    const note = (): void => void (state.isSettled = true);
    promise.then(note, note);
    await this.advanceUntil(() => state.isSettled, mostMs, stepMs);
    return await promise;
  }

  /** As `advanceFor`, for what takes disks, threads or sockets, which have the machine's time: only so fast that they keep up. */
  async advanceBeside<Value>(promise: Promise<Value>, mostMs: number): Promise<Value> {
    const state = { isSettled: false };
    const note = (): void => void (state.isSettled = true);
    promise.then(note, note);
    for (const end = this.#now + mostMs; !state.isSettled && this.#now < end; await pause(1)) await this.advance(BESIDE_MS);
    return await promise;
  }

  /** Time passes, but no timer gets to run yet: as on a machine that was busy or asleep. */
  skip(ms: number): void {
    this.#now += ms;
  }

  #next(end: number): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && (earliest === undefined || timer.at < earliest.at)) earliest = timer;
    }
    return earliest;
  }
}

/** Resolves when every promise that can settle without time or input/output has done so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
