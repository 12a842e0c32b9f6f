import { createHash } from 'node:crypto';
import { parseDigest, type Digest } from './ids.ts';

/** JSON with sorted keys and no white space: equal values have equal texts. Undefined members are left out. */
export function formatCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (isPlainObject(member) ? sortKeys(member) : member));
}

export function digestBytes(bytes: string | Uint8Array): Digest {
  return parseDigest(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sortKeys(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
