import { createAbortError } from './abort.ts';
import type { Clock } from './clock.ts';

/** A signal that aborts after a time or with the outer signal, whichever comes first. Disposing it stops the timer. */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: Disposable;

  /** @param late makes the reason of the abort when the time is over. */
  constructor(clock: Clock, delayMs: number, late: () => Error, outer?: AbortSignal) {
    const controller = new AbortController();
    this.signal = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer]);
    this.#timer = clock.after(delayMs, () => controller.abort(late()));
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}

/**
 * Settles as the promise does, or rejects when it takes longer than `delayMs` or the signal aborts. Leaves neither timer nor listener behind. Every
 * step of an agent uses it, and `Deadline` costs more than all of this, as it creates a signal.
 */
export function withTimeout<T>(clock: Clock, delayMs: number, promise: Promise<T>, late: () => Error, outer?: AbortSignal): Promise<T> {
  return withStallTimeout(clock, delayMs, () => -Infinity, promise, late, outer);
}

/** Does the same, but counts only time without progress. @param progressedAt returns when there was some last, by the clock. */
export function withStallTimeout<T>(
  clock: Clock,
  delayMs: number,
  progressedAt: () => number,
  promise: Promise<T>,
  late: () => Error,
  outer?: AbortSignal,
): Promise<T> {
  const { promise: outcome, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => {
    leave();
    if (outer) reject(createAbortError(outer));
  };
  const onDue = (): void => {
    const leftMs = progressedAt() + delayMs - clock.now();
    if (leftMs > 0) timer = clock.after(leftMs, onDue);
    else {
      leave();
      reject(late());
    }
  };
  let timer = clock.after(delayMs, onDue);
  function leave(): void {
    timer[Symbol.dispose]();
    outer?.removeEventListener('abort', onAbort);
  }
  void promise.then(resolve, reject).finally(leave);
  if (outer?.aborted) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  return outcome;
}

export function waitForAbort(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
