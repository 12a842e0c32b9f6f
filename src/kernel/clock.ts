import { createAbortError } from './abort.ts';

/** Longest delay of Node's timers: a longer one would end after 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Time as a port: the domain never reads the system's clock or timers itself, so tests decide what time it is.
 * All times are milliseconds. `now` is monotonic and starts anywhere; `date` is for people.
 */
export interface Clock {
  now(): number;
  date(): Date;
  /** Runs `callback` once, `delayMs` from now (any number of them; never, if infinitely many), unless the returned handle is disposed first. */
  after(delayMs: number, callback: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(delayMs, callback) {
    // The delay may have passed already: Node warns of a negative number.
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

/** Seconds from the beginning of 1970. @param moment as ISO 8601 writes it. */
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
