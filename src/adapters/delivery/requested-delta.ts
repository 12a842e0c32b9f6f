import type { IncomingHttpHeaders } from 'node:http';
import { isDigest, type Digest } from '../../kernel/ids.ts';

/** How an answer may carry a file as a delta of another (RFC 3229). docs/delta-format.md specifies it. */
export const MANIPULATION = 'muster-delta';

/** A file as its difference from one that the receiver has. */
export interface RequestedDelta {
  /** The receiver's files, likeliest first. */
  readonly bases: readonly Digest[];
  /** Whether the receiver accepts only a delta, because it has the whole file from elsewhere. */
  readonly isOnly: boolean;
}

/** Parses the delta in the headers `A-IM` and `If-None-Match` (RFC 3229); undefined for the whole file. */
export function parseRequestedDelta(headers: IncomingHttpHeaders): RequestedDelta | undefined {
  const taken = String(headers['a-im'] ?? '').split(',');
  if (!taken.some((each) => each.trim() === MANIPULATION)) return undefined;
  const bases = parseTags(headers['if-none-match']).map((hex) => `sha256:${hex}`);
  return { bases: bases.filter(isDigest), isOnly: taken.some((each) => /^\s*identity\s*;\s*q=0(\.0*)?\s*$/.test(each)) };
}

/** Reads the tags of a header, without their quotes: digests, in hexadecimal digits. */
export function parseTags(header: string | undefined): readonly string[] {
  return (header ?? '').split(',').flatMap((tag) => /^\s*"([0-9a-f]{64})"\s*$/.exec(tag)?.[1] ?? []);
}
