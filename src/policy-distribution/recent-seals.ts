import type { FileHandle } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import type { Digest } from '../kernel/ids.ts';

/** Some hundred bytes each. What is older nobody asks for. */
const MOST = 1000;

/**
 * Of files whose bytes were hashed a moment ago: what the file system said of them then. A write makes another file of it, and so does a copy; whoever
 * finds one as its seal says need not hash it once more.
 */
export class RecentSeals {
  readonly #seals = new LRUCache<Digest, string>({ max: MOST });

  /** @param handle of the file, after the last that is done to it. */
  async note(digest: Digest, handle: FileHandle): Promise<void> {
    const { ino, size, mtimeNs } = await handle.stat({ bigint: true });
    this.#seals.set(digest, `${ino}:${size}:${mtimeNs}`);
  }

  /** `inode:bytes:nanoseconds`, the last being when it was written, since 1970. */
  of(digest: Digest): string | undefined {
    return this.#seals.get(digest);
  }
}
