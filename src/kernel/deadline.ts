import { raceWithAbort } from './abort.ts';
import type { Clock } from './clock.ts';

/** A signal that is aborted after a time, or with the outer signal, whichever comes first. Disposing it stops the timer. */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: Disposable;

  /** @param late makes the reason of the abort when the time has passed. */
  constructor(clock: Clock, delayMs: number, late: () => Error, outer?: AbortSignal) {
    const controller = new AbortController();
    this.signal = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer]);
    this.#timer = clock.after(delayMs, () => controller.abort(late()));
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}

/** The promise's outcome, or a rejection when it takes longer than `delayMs`. */
export async function withTimeout<T>(clock: Clock, delayMs: number, promise: Promise<T>, late: () => Error): Promise<T> {
  using deadline = new Deadline(clock, delayMs, late);
  return await raceWithAbort(promise, deadline.signal);
}

/** Resolves when the signal is aborted. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
