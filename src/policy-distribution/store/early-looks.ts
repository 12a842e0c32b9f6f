import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { RecordedCheckpoint } from './checkpoint-records.ts';
import type { CheckpointFile } from '../checkpoint.ts';
import type { StoredCheckpoint } from '../stored-checkpoint.ts';

/** Of all addresses together: a few hundred bytes each. A directory of more is looked for once it is known which one it is. */
const MOST_FILES = 10_000;

/** @returns undefined when it is not here, or not all of it. */
export type Look = (checkpoint: RecordedCheckpoint) => Promise<StoredCheckpoint | undefined>;

/**
 * Looks whether a checkpoint is here while it is still asked which one stands at an address: mostly it is the one that stood there the last
 * time, and then both take the time of one.
 */
export class EarlyLooks {
  readonly #look: Look;
  readonly #last = new LRUCache<string, RecordedCheckpoint>({ maxSize: MOST_FILES, sizeCalculation: ({ files }) => files.length });

  constructor(look: Look) {
    this.#look = look;
  }

  /**
   * Looks for what stood at the address the last time.
   *
   * @returns how to look for what does stand there, after the beginning of this.
   */
  begin(address: string): Look {
    const last = this.#last.get(address);
    const early = last && this.#look(last);
    // Nobody may ask for it: whoever does is told.
    early?.catch(() => undefined);
    return (checkpoint) => {
      this.#last.set(address, checkpoint);
      return last && early && isSame(checkpoint, last) ? early : this.#look(checkpoint);
    };
  }
}

/** Files of one digest may have other names, and come from elsewhere. */
function isSame({ digest, kind, files }: RecordedCheckpoint, other: RecordedCheckpoint): boolean {
  const isSameFile = ({ path, bucketObject }: CheckpointFile, at: number): boolean =>
    path === other.files[at]?.path && isDeepStrictEqual(bucketObject, other.files[at].bucketObject);
  return digest === other.digest && kind === other.kind && files.length === other.files.length && files.every(isSameFile);
}
