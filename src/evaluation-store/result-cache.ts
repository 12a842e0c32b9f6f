import { canonicalJson, digestOf } from '../kernel/canonical-json.ts';
import type { Digest } from '../kernel/ids.ts';
import type { Leg } from './episode-log.ts';
import type { Ownership } from './ownership.ts';

/** All that decides, with the index, what an episode comes to. */
export interface CacheKeyParts {
  readonly checkpoint: Digest;
  readonly suite: Digest;
  /** Of the sandbox template's definition. */
  readonly template: Digest;
  /** How indices draw their tasks, when the suite's digest does not say it alone: see `drawOf`. */
  readonly draw: string;
  /** What ran in the sandboxes that the episodes come out of. */
  readonly runs: 'data' | 'code';
}

export type CacheKey = Digest;

/** @param principal who asks: what came out of a sandbox with code in it is found by the same principal alone. */
export function cacheKey({ checkpoint, suite, template, draw, runs }: CacheKeyParts, principal: string): CacheKey {
  return digestOf(canonicalJson({ checkpoint, suite, template, draw, partition: partitionOf(runs, principal) }));
}

/** Whose results stand in for one another. Results of before there were partitions are in none. */
export function partitionOf(runs: CacheKeyParts['runs'], principal: string): object {
  switch (runs) {
    case 'data':
      return { of: 'all' };
    case 'code':
      return { of: 'principal', principal };
  }
}

/** Episodes that other evaluations have played already. */
export interface ResultCache {
  /**
   * Stores the resolved episodes that others have under the leg's key as this evaluation's own: it stays whole when they are forgotten.
   * Indices that it has stay as they are. Nothing happens without a key.
   *
   * @param from first index.
   * @param to first index that is not adopted any more.
   * @throws OwnershipLostError
   */
  adopt(ownership: Ownership, leg: Leg, from: number, to: number): Promise<void>;

  /** First index from `from` on that another evaluation has under the key; undefined when there is none. */
  nextKnown(ownership: Ownership, leg: Leg, from: number): Promise<number | undefined>;
}
