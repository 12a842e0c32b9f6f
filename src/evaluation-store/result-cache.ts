import type { Leg } from './episode-log.ts';
import type { Ownership } from './ownership.ts';

/** Episodes that other evaluations have played already. */
export interface ResultCache {
  /**
   * Copies resolved episodes that other evaluations stored under the leg's key to this evaluation, so that it stays complete when those are
   * forgotten. Indices that it already has do not change. Has no effect without a key.
   *
   * @param from first index. @param to the index after the last. @throws OwnershipLostError
   */
  adopt(ownership: Ownership, leg: Leg, from: number, to: number): Promise<void>;

  /** Finds the first index from `from` on that another evaluation has stored under the key. Returns undefined when there is none. */
  findNextKnown(ownership: Ownership, leg: Leg, from: number): Promise<number | undefined>;
}
