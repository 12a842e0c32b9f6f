import { createHash } from 'node:crypto';
import { parseDigest, type Digest } from './ids.ts';

/** Writes JSON with sorted keys and no white space: equal values have equal texts. Undefined members are left out. */
export function formatCanonicalJson(value: unknown): string {
  return JSON.stringify(sortKeys(value));
}

export function digestBytes(bytes: string | Uint8Array): Digest {
  return parseDigest(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
}

/** Returns a copy: to sort in a replacer of JSON.stringify takes more than twice as long. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ('toJSON' in value && typeof value.toJSON === 'function')) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, member]) => [key, sortKeys(member)]));
}
