import { digestBytes } from '../../kernel/canonical-json.ts';
import type { Digest } from '../../kernel/ids.ts';

const MOST = 10_000;

/**
 * Which tokens were good when they were last shown. They are looked up all the same: this only tells who speaks with a token of ours from who guesses
 * at the same address, such as that of a proxy.
 */
export class KnownTokens {
  readonly #digests = new Set<Digest>();

  /** @param authorization the header's value. */
  has(authorization: string): boolean {
    return this.#digests.has(digestBytes(authorization));
  }

  remember(authorization: string): void {
    const digest = digestBytes(authorization);
    // The one that was shown longest ago goes.
    this.#digests.delete(digest);
    this.#digests.add(digest);
    const [oldest] = this.#digests;
    if (this.#digests.size > MOST && oldest !== undefined) this.#digests.delete(oldest);
  }

  forget(authorization: string): void {
    this.#digests.delete(digestBytes(authorization));
  }
}
