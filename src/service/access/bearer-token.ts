import { randomBytes, timingSafeEqual } from 'node:crypto';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { parseTokenId, type Digest, type TokenId } from '../../kernel/ids.ts';

/**
 * `muster_<id>_<secret>`: a prefix that scanners for leaked secrets can look for, 64 random bits to find the token by, and 256 random bits that
 * prove it. What is kept is the SHA-256 of the secret: it has nothing to guess, as a password has, so there is nothing that a slow hash would
 * slow down but the requests.
 */
export interface BearerToken {
  readonly id: TokenId;
  readonly secretDigest: Digest;
  /** What the caller presents. It is shown once and not kept. */
  readonly text: string;
}

const FORM = /^muster_(?<id>[0-9a-f]{16})_(?<secret>[A-Za-z0-9_-]{43})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;

export function mintBearerToken(): BearerToken {
  const id = parseTokenId(randomBytes(ID_BYTES).toString('hex'));
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { id, secretDigest: digestBytes(secret), text: `muster_${id}_${secret}` };
}

export interface PresentedToken {
  readonly id: TokenId;
  readonly secret: string;
}

/** Undefined when the text has not the form of a token. */
export function readBearerToken(text: string): PresentedToken | undefined {
  const { id, secret } = FORM.exec(text)?.groups ?? {};
  return id === undefined || secret === undefined ? undefined : { id: parseTokenId(id), secret };
}

/** Takes as long for a near miss as for a far one. */
export function isSecretOf(secret: string, digest: Digest): boolean {
  return timingSafeEqual(Buffer.from(digestBytes(secret)), Buffer.from(digest));
}
