import { InputError } from '../../kernel/errors.ts';
import { computeBackoffMs } from './backoff.ts';
import type { CreationObservation } from './plan-terms.ts';
import { createFullBucket, refillBucket, takeTokens, type TokenBucket, type TokenRate } from './token-bucket.ts';

/** How creating sandboxes went so far: what the planner needs to know for the rate and the pause after failures. */
export class CreationHistory implements CreationObservation {
  readonly #configured: TokenRate;
  #bucket: TokenBucket;
  #pace = FREE_PACE;
  #refusedAt = -Infinity;
  #failures = 0;
  #failedAt = -Infinity;
  #lastError: unknown;
  #isHopeless = false;

  /** @param configured how fast creations may go at most. */
  constructor(configured: TokenRate, now: number) {
    this.#configured = configured;
    this.#bucket = createFullBucket(configured, now);
  }

  get rate(): TokenRate {
    return limitRate(this.#configured, this.#pace);
  }

  get pausedUntil(): number {
    return this.#pace.pausedUntil;
  }

  get bucket(): TokenBucket {
    return this.#bucket;
  }

  get failures(): number {
    return this.#failures;
  }

  get failedAt(): number {
    return this.#failedAt;
  }

  /** What the latest failure or refusal was about; kept after the next success. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** The latest failure is the caller's to mend: it will not pass by itself. */
  get isHopeless(): boolean {
    return this.#isHopeless;
  }

  onBegun(count: number, now: number): void {
    this.#bucket = takeTokens(this.#bucket, this.rate, now, count);
  }

  /** The provider made one. */
  onCreated(now: number): void {
    if (this.#pace.perSecond < Infinity) this.#changePace(speedUp(this.#pace, this.#configured.perSecond), now);
  }

  /** One got ready. */
  onReady(): void {
    this.#failures = 0;
    this.#isHopeless = false;
  }

  /** A creation that began before the latest round failed belongs to that round: it says nothing new about the provider. */
  onFailed(beganAt: number, error: unknown, now: number): void {
    this.#lastError = error;
    this.#isHopeless = error instanceof InputError;
    if (beganAt <= this.#failedAt) return;
    this.#failures++;
    this.#failedAt = now;
  }

  /** The provider's service was busy. What was under way together is refused together, and slows the pool down once. */
  onRefused(beganAt: number, error: unknown, now: number, retryAfterMs?: number): void {
    this.#lastError = error;
    if (beganAt <= this.#refusedAt) return;
    this.#refusedAt = now;
    this.#changePace(slowDown(this.#pace, this.#configured.perSecond, now, retryAfterMs), now);
  }

  /** What had gathered at the old rate stays, what gathers from now on does so at the new one. */
  #changePace(pace: CreationPace, now: number): void {
    this.#bucket = refillBucket(this.#bucket, this.rate, now);
    this.#pace = pace;
  }
}

function limitRate(configured: TokenRate, { perSecond }: CreationPace): TokenRate {
  if (perSecond >= configured.perSecond) return configured;
  return { perSecond, burst: Math.max(1, Math.min(configured.burst, perSecond)) };
}

/**
 * How fast creations may go after the provider's service has refused some. Additive increase, multiplicative decrease: many pools that
 * share an account settle at fair shares of what it allows, without speaking to each other (Chiu and Jain 1989).
 */
export interface CreationPace {
  /** Infinite while nothing was refused: the configuration's rate alone holds. */
  readonly perSecond: number;
  /** Nothing is created before. */
  readonly pausedUntil: number;
  /** Since the last creation that went through. */
  readonly refusals: number;
}

export const FREE_PACE: CreationPace = { perSecond: Infinity, pausedUntil: -Infinity, refusals: 0 };

/** Never slower than this, or a pool that was refused for long would take minutes to notice that it is welcome again. */
export const SLOWEST_PER_SECOND = 0.1;
/** What each creation that goes through adds: from half of five a second, two dozen creations lead back to five. */
const STEP_PER_SECOND = 0.1;

/** @param perSecond what the configuration allows. @param retryAfterMs what the service asked for. */
export function slowDown(pace: CreationPace, perSecond: number, now: number, retryAfterMs = 0): CreationPace {
  const refusals = pace.refusals + 1;
  return {
    perSecond: Math.min(perSecond, Math.max(SLOWEST_PER_SECOND, Math.min(perSecond, pace.perSecond) / 2)),
    pausedUntil: Math.max(pace.pausedUntil, now + Math.max(retryAfterMs, computeBackoffMs(refusals))),
    refusals,
  };
}

/** After a creation that went through. */
export function speedUp(pace: CreationPace, perSecond: number): CreationPace {
  const faster = pace.perSecond + STEP_PER_SECOND;
  return { ...pace, perSecond: faster >= perSecond ? Infinity : faster, refusals: 0 };
}
