import { createAbortError } from './abort.ts';

/** Longest delay that Node's timers support: longer ones fire after 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Time as a port: the domain never reads the system's clock or timers itself, so tests control the time. All times are in milliseconds.
 * `now` is monotonic with an arbitrary origin; `date` is for people.
 */
export interface Clock {
  now(): number;
  date(): Date;
  /** Runs `callback` once after `delayMs` (any length; never, if infinite) unless the returned handle is disposed first. */
  after(delayMs: number, callback: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(delayMs, callback) {
    // The delay may be over already, and Node warns of negative delays.
    let leftMs = Math.max(0, delayMs);
    const wait = (): NodeJS.Timeout => {
      const partMs = Math.min(leftMs, LONGEST_TIMER_MS);
      leftMs -= partMs;
      return setTimeout(leftMs > 0 ? () => (timer = wait()) : callback, partMs);
    };
    let timer = wait();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Returns seconds since the beginning of 1970. @param moment in ISO 8601. */
export function toEpochSeconds(moment: string): number {
  return Date.parse(moment) / 1000;
}

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal?.aborted) {
    reject(createAbortError(signal));
    return promise;
  }
  const timer = clock.after(delayMs, () => {
    signal?.removeEventListener('abort', abort);
    resolve();
  });
  function abort(): void {
    timer[Symbol.dispose]();
    if (signal) reject(createAbortError(signal));
  }
  signal?.addEventListener('abort', abort, { once: true });
  return promise;
}
