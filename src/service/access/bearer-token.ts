import { randomBytes, timingSafeEqual } from 'node:crypto';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { parseTokenId, type Digest, type TokenId } from '../../kernel/ids.ts';

/**
 * `muster_<id>_<secret>`: a prefix that scanners for leaked secrets recognise, 64 random bits to find the token by, and 256 random bits that prove
 * it. The store has the SHA-256 of the secret: unlike a password it cannot be guessed, so a slow hash would only slow down requests.
 */
export interface BearerToken {
  readonly id: TokenId;
  readonly secretDigest: Digest;
  /** The token's text. It is shown once and not stored. */
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

/** Returns undefined when the text does not have the form of a token. */
export function readBearerToken(text: string): PresentedToken | undefined {
  const { id, secret } = FORM.exec(text)?.groups ?? {};
  return id === undefined || secret === undefined ? undefined : { id: parseTokenId(id), secret };
}

/** Takes the same time for every wrong token. */
export function isSecretOf(secret: string, digest: Digest): boolean {
  return timingSafeEqual(Buffer.from(digestBytes(secret)), Buffer.from(digest));
}
