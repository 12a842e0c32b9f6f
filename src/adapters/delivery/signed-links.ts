import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { parseDigest, type Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../../policy-distribution/checkpoint.ts';

/** The file that a link grants. */
export interface Linked {
  readonly digest: Digest;
  /** Name of the file, without directories: its suffix gives the format. */
  readonly name: string;
}

export type LinkVerdict =
  | { readonly kind: 'good'; readonly linked: Linked }
  /** This process has not signed it. */
  | { readonly kind: 'forged' }
  | { readonly kind: 'expired' };

const KEY_BYTES = 32;
const PATH = /^\/v1\/content\/(?<hex>[0-9a-f]{64})\/(?<name>[^/]{1,1024})$/;

/**
 * Paths with a signature (HMAC-SHA256) over their content and expiry. The key belongs to this process and is stored nowhere: a link is valid no
 * longer than the sandboxes that it was made for.
 */
export class SignedLinks {
  readonly #key = randomBytes(KEY_BYTES);
  readonly #clock: Clock;
  readonly #seconds: number;

  constructor(clock: Clock, seconds: number) {
    this.#clock = clock;
    this.#seconds = seconds;
  }

  /** Returns the path and query of a link. */
  sign({ digest, name }: Linked): string {
    const path = `/v1/content/${getDigestHex(digest)}/${encodeURIComponent(name)}`;
    const until = String(Math.ceil(this.#clock.date().getTime() / 1000 + this.#seconds));
    return `${path}?until=${until}&proof=${this.#computeProof(path, until).toString('base64url')}`;
  }

  /** @param target path and query of a request. */
  verify(target: string): LinkVerdict {
    const url = URL.parse(target, 'http://origin');
    const until = url?.searchParams.get('until') ?? '';
    const proof = url?.searchParams.get('proof') ?? '';
    const { hex, name } = PATH.exec(url?.pathname ?? '')?.groups ?? {};
    if (!url || hex === undefined || name === undefined || !/^\d{1,12}$/.test(until)) return { kind: 'forged' };
    const [given, right] = [Buffer.from(proof, 'base64url'), this.#computeProof(url.pathname, until)];
    if (given.length !== right.length || !timingSafeEqual(given, right)) return { kind: 'forged' };
    if (Number(until) * 1000 < this.#clock.date().getTime()) return { kind: 'expired' };
    return { kind: 'good', linked: { digest: parseDigest(`sha256:${hex}`), name: decodeURIComponent(name) } };
  }

  #computeProof(path: string, until: string): Buffer {
    return createHmac('sha256', this.#key).update(`muster-content/1\n${path}\n${until}`).digest();
  }
}
