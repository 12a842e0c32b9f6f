import { LRUCache } from 'lru-cache';
import type { Digest } from '../../kernel/ids.ts';
import type { ListedFile } from '../checkpoint-source.ts';

/** A few hundred bytes each. */
const MOST_KNOWN = 10_000;

/**
 * Digests of files as this process last read them, so that an unchanged file is not read again: a checkpoint that is evaluated on several
 * suites, and a suite's modules in every evaluation. Excludes files whose source cannot rule out a change without a new revision.
 */
export class KnownFiles {
  readonly #digests = new LRUCache<string, Digest>({ max: MOST_KNOWN });

  /** Returns undefined when the file has to be read. */
  findDigest(file: ListedFile): Digest | undefined {
    return file.isSettled === true ? this.#digests.get(selectKey(file)) : undefined;
  }

  remember(file: ListedFile, digest: Digest): void {
    if (file.isSettled === true) this.#digests.set(selectKey(file), digest);
  }
}

/** The path is part of the key: it decides how a file is inspected. */
function selectKey({ path, address, revision }: ListedFile): string {
  return JSON.stringify([path, address, revision]);
}
