import { formatCanonicalJson, digestBytes } from '../kernel/canonical-json.ts';
import type { Digest } from '../kernel/ids.ts';

/** All that, together with the index, decides an episode's outcome. */
export interface CacheKeyParts {
  readonly checkpoint: Digest;
  readonly suite: Digest;
  /** The digest of the sandbox template's definition. */
  readonly template: Digest;
  /** Says how indices draw their tasks where the suite's digest alone does not: see `describeDraw`. */
  readonly draw: string;
  /** What ran in the sandboxes that played the episodes. */
  readonly runs: 'data' | 'code';
}

export type CacheKey = Digest;

/** @param principal the caller: only the same principal finds episodes of sandboxes in which code ran. */
export function buildCacheKey({ checkpoint, suite, template, draw, runs }: CacheKeyParts, principal: string): CacheKey {
  return digestBytes(formatCanonicalJson({ checkpoint, suite, template, draw, partition: choosePartition(runs, principal) }));
}

/** Chooses the partition whose evaluations share results. Results that were stored before partitions existed belong to none. */
export function choosePartition(runs: CacheKeyParts['runs'], principal: string): object {
  switch (runs) {
    case 'data':
      return { of: 'all' };
    case 'code':
      return { of: 'principal', principal };
  }
}
