import { createHash } from 'node:crypto';
import type { GoogleAuth } from 'google-auth-library';
import type { ObjectLocation } from './object-store.ts';

export interface LinkOrder {
  /** Scheme and host, with no slash at the end. */
  readonly endpoint: string;
  readonly place: ObjectLocation;
  readonly query: Readonly<Record<string, string>>;
  /** The link is valid this long. */
  readonly seconds: number;
  readonly now: Date;
}

const ALGORITHM = 'GOOG4-RSA-SHA256';

/**
 * Signs a URL that grants reading an object, by Google's V4 signing process (https://cloud.google.com/storage/docs/access-control/signed-urls). The
 * signature is made with the key of the signed-in account, or, without a key, by Google's service.
 */
export async function signUrl(auth: GoogleAuth, { endpoint, place, query, seconds, now }: LinkOrder): Promise<string> {
  const { client_email: email = '' } = await auth.getCredentials();
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`;
  const path = `/${place.bucket}/${place.name.split('/').map(encode).join('/')}`;
  const terms = {
    ...query,
    'X-Goog-Algorithm': ALGORITHM,
    'X-Goog-Credential': `${email}/${scope}`,
    'X-Goog-Date': time,
    'X-Goog-Expires': String(seconds),
    'X-Goog-SignedHeaders': 'host',
  };
  const canonicalQuery = Object.entries(terms)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const request = ['GET', path, canonicalQuery, `host:${new URL(endpoint).hostname}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(request).digest('hex');
  const signature = Buffer.from(await auth.sign([ALGORITHM, time, scope, digest].join('\n')), 'base64').toString('hex');
  return `${endpoint}${path}?${canonicalQuery}&X-Goog-Signature=${signature}`;
}

/** Encodes all characters but letters, digits and `-._~`, as RFC 3986 requires. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
