import { InputError } from '../../kernel/errors.ts';
import { computeBackoffMs } from './backoff.ts';
import type { CreationObservation } from './plan-terms.ts';
import { createFullBucket, refillBucket, takeTokens, type TokenBucket, type TokenRate } from './token-bucket.ts';

/** The results of creations so far, as the planner needs them for the rate and for the pause after failures. */
export class CreationHistory implements CreationObservation {
  readonly #configured: TokenRate;
  #bucket: TokenBucket;
  #pace = FREE_PACE;
  #refusedAt = -Infinity;
  #failures = 0;
  #failedAt = -Infinity;
  #lastError: unknown;
  #isHopeless = false;

  /** @param configured the highest rate of creations. */
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

  /** The error of the latest failure or refusal; it stays after the next success. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** It is true when only the caller can correct the latest failure, which will not pass by itself. */
  get isHopeless(): boolean {
    return this.#isHopeless;
  }

  onBegun(count: number, now: number): void {
    this.#bucket = takeTokens(this.#bucket, this.rate, now, count);
  }

  /** The provider has made a sandbox. */
  onCreated(now: number): void {
    if (this.#pace.perSecond < Infinity) this.#changePace(speedUp(this.#pace, this.#configured.perSecond), now);
  }

  /** A sandbox has become ready. */
  onReady(): void {
    this.#failures = 0;
    this.#isHopeless = false;
  }

  /** A creation that began before the latest round failed belongs to that round, so it says nothing new about the provider. */
  onFailed(beganAt: number, error: unknown, now: number): void {
    this.#lastError = error;
    this.#isHopeless = error instanceof InputError;
    if (beganAt <= this.#failedAt) return;
    this.#failures++;
    this.#failedAt = now;
  }

  /** The provider's service was busy. Creations that were under way together are refused together and slow the pool down once. */
  onRefused(beganAt: number, error: unknown, now: number, retryAfterMs?: number): void {
    this.#lastError = error;
    if (beganAt <= this.#refusedAt) return;
    this.#refusedAt = now;
    this.#changePace(slowDown(this.#pace, this.#configured.perSecond, now, retryAfterMs), now);
  }

  /** Tokens that accumulated at the old rate stay; later ones accumulate at the new rate. */
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
 * The rate of creations after the provider's service has refused some: additive increase, multiplicative decrease. Pools that share an
 * account converge to fair shares without communicating (Chiu and Jain 1989).
 */
export interface CreationPace {
  /** Infinite while nothing was refused: then only the configured rate applies. */
  readonly perSecond: number;
  /** No creation starts before this time. */
  readonly pausedUntil: number;
  /** Refusals since the last successful creation. */
  readonly refusals: number;
}

export const FREE_PACE: CreationPace = { perSecond: Infinity, pausedUntil: -Infinity, refusals: 0 };

/** The lowest rate. With a lower one, a pool that was refused for long would take minutes to notice that the service accepts again. */
export const SLOWEST_PER_SECOND = 0.1;
/** Each successful creation adds this to the rate: two dozen lead from 2.5 a second back to 5. */
const STEP_PER_SECOND = 0.1;

/** @param perSecond the configured rate. @param retryAfterMs the pause that the service asked for. */
export function slowDown(pace: CreationPace, perSecond: number, now: number, retryAfterMs = 0): CreationPace {
  const refusals = pace.refusals + 1;
  return {
    perSecond: Math.min(perSecond, Math.max(SLOWEST_PER_SECOND, Math.min(perSecond, pace.perSecond) / 2)),
    pausedUntil: Math.max(pace.pausedUntil, now + Math.max(retryAfterMs, computeBackoffMs(refusals))),
    refusals,
  };
}

/** Raises the rate after a successful creation. */
export function speedUp(pace: CreationPace, perSecond: number): CreationPace {
  const faster = pace.perSecond + STEP_PER_SECOND;
  return { ...pace, perSecond: faster >= perSecond ? Infinity : faster, refusals: 0 };
}
