import type { Clock } from '../../kernel/clock.ts';
import { RefusedError, UnavailableError } from './client-errors.ts';

/** How long trouble that passes is waited out: connections that break, 502, 503, 504, and 429 with its Retry-After. */
export interface Retry {
  /** Longest pause after the first failure; it doubles with each one that follows, and each is drawn at random up to it. */
  readonly firstMilliseconds: number;
  readonly longestMilliseconds: number;
  /** Given up when nothing has succeeded for so long, or when the server asks for a longer pause than is left of it. */
  readonly patienceMilliseconds: number;
}

export const DEFAULT_RETRY: Retry = { firstMilliseconds: 250, longestMilliseconds: 15_000, patienceMilliseconds: 120_000 };

export interface PatienceOptions {
  readonly clock: Clock;
  /** At random, from 0 to below 1. */
  readonly random: () => number;
  readonly retry: Retry;
}

/** Of one call: it begins to run out with the first failure, and is whole again with the next success. */
export class Patience {
  readonly #options: PatienceOptions;
  #failures = 0;
  #since: number | undefined;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  onSuccess(): void {
    this.#failures = 0;
    this.#since = undefined;
  }

  /** Whether there was a failure since the last success. */
  get isTried(): boolean {
    return this.#failures > 0;
  }

  /** @returns milliseconds to wait before the next try. @throws the error when no further try is due. */
  pauseAfter(error: unknown): number {
    const { clock, retry } = this.#options;
    const now = clock.now();
    this.#since ??= now;
    const pause = this.#pause(error);
    this.#failures += 1;
    if (pause === undefined || pause > this.#since + retry.patienceMilliseconds - now) throw error;
    return pause;
  }

  /** Undefined for what does not pass. */
  #pause(error: unknown): number | undefined {
    const { random, retry } = this.#options;
    if (error instanceof RefusedError) return toMilliseconds(error.status === 429 ? error.retryAfterSeconds : undefined);
    if (!(error instanceof UnavailableError)) return undefined;
    const most = Math.min(retry.longestMilliseconds, retry.firstMilliseconds * 2 ** Math.min(this.#failures, 32));
    return toMilliseconds(error.retryAfterSeconds) ?? random() * most;
  }
}

function toMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : 1000 * seconds;
}
