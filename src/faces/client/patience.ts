import type { Clock } from '../../kernel/clock.ts';
import { RefusedError, UnavailableError } from './client-errors.ts';

/** How long to retry temporary failures: broken connections, 502, 503, 504, and 429 with its Retry-After. */
export interface Retry {
  /** Longest pause after the first failure. It doubles with each further one, and each pause is random up to it. */
  readonly firstMilliseconds: number;
  readonly longestMilliseconds: number;
  /** Gives up when nothing has succeeded for this long, or when the server asks for a pause longer than the rest of it. */
  readonly patienceMilliseconds: number;
}

export const DEFAULT_RETRY: Retry = { firstMilliseconds: 250, longestMilliseconds: 15_000, patienceMilliseconds: 120_000 };

export interface PatienceOptions {
  readonly clock: Clock;
  /** Draws a number, uniform in [0, 1). */
  readonly random: () => number;
  readonly retry: Retry;
}

/** The patience of one call: it starts with the first failure, and is restored by the next success. */
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

  /** @returns milliseconds to wait before the next attempt. @throws the error when no further attempt is due. */
  pauseAfter(error: unknown): number {
    const { clock, retry } = this.#options;
    const now = clock.now();
    this.#since ??= now;
    const pause = this.#pause(error);
    this.#failures += 1;
    if (pause === undefined || pause > this.#since + retry.patienceMilliseconds - now) throw error;
    return pause;
  }

  /** Returns undefined for a lasting failure. */
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
