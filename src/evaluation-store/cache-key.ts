import { formatCanonicalJson, digestBytes } from '../kernel/canonical-json.ts';
import type { Digest } from '../kernel/ids.ts';

/** All that decides, with the index, what an episode comes to. */
export interface CacheKeyParts {
  readonly checkpoint: Digest;
  readonly suite: Digest;
  /** Of the sandbox template's definition. */
  readonly template: Digest;
  /** How indices draw their tasks, when the suite's digest does not say it alone: see `describeDraw`. */
  readonly draw: string;
  /** What ran in the sandboxes that the episodes come out of. */
  readonly runs: 'data' | 'code';
}

export type CacheKey = Digest;

/** @param principal who asks: what came out of a sandbox with code in it is found by the same principal alone. */
export function buildCacheKey({ checkpoint, suite, template, draw, runs }: CacheKeyParts, principal: string): CacheKey {
  return digestBytes(formatCanonicalJson({ checkpoint, suite, template, draw, partition: choosePartition(runs, principal) }));
}

/** Whose results stand in for one another. Results of before there were partitions are in none. */
export function choosePartition(runs: CacheKeyParts['runs'], principal: string): object {
  switch (runs) {
    case 'data':
      return { of: 'all' };
    case 'code':
      return { of: 'principal', principal };
  }
}
