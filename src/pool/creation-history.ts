import type { CreationObservation } from './plan.ts';
import { fullBucket, takeTokens, type TokenBucket, type TokenRate } from './token-bucket.ts';

/** How creating sandboxes went so far: what the planner needs to know for the rate and the pause after failures. */
export class CreationHistory implements CreationObservation {
  readonly #rate: TokenRate;
  #bucket: TokenBucket;
  #failures = 0;
  #failedAt = -Infinity;
  #lastError: unknown;

  constructor(rate: TokenRate, now: number) {
    this.#rate = rate;
    this.#bucket = fullBucket(rate, now);
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

  /** What the latest failure was about; kept after the next success. */
  get lastError(): unknown {
    return this.#lastError;
  }

  began(count: number, now: number): void {
    this.#bucket = takeTokens(this.#bucket, this.#rate, now, count);
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** A creation that began before the latest round failed belongs to that round: it says nothing new about the provider. */
  failed(beganAt: number, error: unknown, now: number): void {
    this.#lastError = error;
    if (beganAt <= this.#failedAt) return;
    this.#failures++;
    this.#failedAt = now;
  }
}
