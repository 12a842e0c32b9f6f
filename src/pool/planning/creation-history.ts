import { InputError } from '../../kernel/errors.ts';
import { FREE_PACE, slowDown, speedUp, type CreationPace } from './creation-pace.ts';
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
