import type { Clock } from '../../kernel/clock.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import type { Digest } from '../../kernel/ids.ts';

const MINUTE_MS = 60_000;
/** The largest number of addresses whose attempts are kept, a hundred bytes each. */
const MOST_ADDRESSES = 10_000;

interface Attempts {
  readonly since: number;
  count: number;
}

/**
 * Counts the tokens from each address that were not found valid, within a minute from the first one. A token counts from its arrival, so concurrent
 * attempts are limited like successive ones.
 */
export class TokenAttempts {
  readonly most: number;
  readonly #clock: Clock;
  readonly #attempts = new Map<string, Attempts>();

  /** @param most attempts of one address within a minute. */
  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.most = most;
  }

  /** @returns seconds for which the address is blocked; undefined when the attempt is allowed, and counted. */
  begin(address: string): number | undefined {
    const attempts = this.#findCurrent(address) ?? this.#startCounting(address);
    if (attempts.count >= this.most) return Math.max(1, Math.ceil((attempts.since + MINUTE_MS - this.#clock.now()) / 1000));
    attempts.count += 1;
    return undefined;
  }

  /** Takes back an attempt that does not count: the token was valid, or could not be checked. */
  takeBack(address: string): void {
    const attempts = this.#findCurrent(address);
    if (!attempts) return;
    attempts.count -= 1;
    // Addresses with valid tokens take no room.
    if (attempts.count <= 0) this.#attempts.delete(address);
  }

  #findCurrent(address: string): Attempts | undefined {
    const attempts = this.#attempts.get(address);
    if (!attempts || this.#clock.now() < attempts.since + MINUTE_MS) return attempts;
    this.#attempts.delete(address);
    return undefined;
  }

  #startCounting(address: string): Attempts {
    // Removes the address whose minute began first.
    const [oldest] = this.#attempts.keys();
    if (this.#attempts.size === MOST_ADDRESSES && oldest !== undefined) this.#attempts.delete(oldest);
    const attempts = { since: this.#clock.now(), count: 0 };
    this.#attempts.set(address, attempts);
    return attempts;
  }
}

const MOST = 10_000;

/**
 * Tokens that were valid when they were last used. They are looked up all the same: this only tells owners of tokens from attackers at the same
 * address, for example that of a proxy.
 */
export class KnownTokens {
  readonly #digests = new Set<Digest>();

  /** @param authorization the header's value. */
  has(authorization: string): boolean {
    return this.#digests.has(digestBytes(authorization));
  }

  remember(authorization: string): void {
    const digest = digestBytes(authorization);
    // Removes the one that was used longest ago.
    this.#digests.delete(digest);
    this.#digests.add(digest);
    const [oldest] = this.#digests;
    if (this.#digests.size > MOST && oldest !== undefined) this.#digests.delete(oldest);
  }

  forget(authorization: string): void {
    this.#digests.delete(digestBytes(authorization));
  }
}
