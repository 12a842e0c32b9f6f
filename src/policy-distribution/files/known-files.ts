import { LRUCache } from 'lru-cache';
import type { Digest } from '../../kernel/ids.ts';
import type { ListedFile } from '../checkpoint-source.ts';

/** A few hundred bytes each. */
const MOST_KNOWN = 10_000;

/**
 * What files were when this process last read them, so that one that has not changed since is not read again: a checkpoint that is evaluated
 * on several suites, and a suite's modules with every evaluation. A file whose source cannot rule out that it changes without another revision
 * is never known.
 */
export class KnownFiles {
  readonly #digests = new LRUCache<string, Digest>({ max: MOST_KNOWN });

  /** Undefined when it has to be read. */
  findDigest(file: ListedFile): Digest | undefined {
    return file.isSettled === true ? this.#digests.get(selectKey(file)) : undefined;
  }

  remember(file: ListedFile, digest: Digest): void {
    if (file.isSettled === true) this.#digests.set(selectKey(file), digest);
  }
}

/** Its path is part of it: what a file is inspected as follows from its name. */
function selectKey({ path, address, revision }: ListedFile): string {
  return JSON.stringify([path, address, revision]);
}
