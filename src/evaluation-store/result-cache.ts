import type { Leg } from './episode-log.ts';
import type { Ownership } from './ownership.ts';

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
