import { digestBytes } from '../../kernel/canonical-json.ts';
import type { Digest } from '../../kernel/ids.ts';

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
