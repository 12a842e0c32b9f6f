import { BLOCK_BYTES } from '../files/block-digest.ts';
import type { CheckpointListing, CheckpointSource, ListedFile } from '../checkpoint-source.ts';
import type { StoredFile } from '../stored-checkpoint.ts';
import { sortByPath, type CheckpointFile } from '../checkpoint.ts';
import type { ContentStore } from './content-store.ts';
import type { StoredObject } from '../files/stored-object.ts';
import { KnownFiles } from '../files/known-files.ts';
import { readWholeFile } from '../files/listed-files.ts';
import { isShardIndex } from '../formats/shard-index.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';

/** Stores files as sources list them: an unchanged file is not read again. */
export class BroughtFiles {
  readonly #content: ContentStore;
  readonly #known = new KnownFiles();

  constructor(content: ContentStore) {
    this.#content = content;
  }

  /** Returns the files' content as last read, in order of their paths; undefined unless all are known. */
  recall(files: CheckpointListing['files']): readonly CheckpointFile[] | undefined {
    const recalled: CheckpointFile[] = [];
    for (const file of sortByPath(files)) {
      const digest = this.#known.findDigest(file);
      if (digest === undefined) return undefined;
      recalled.push({ path: file.path, size: file.size, digest, ...toBucketObject(file) });
    }
    return recalled;
  }

  /**
   * @returns in the order of their paths.
   * @throws as `CheckpointStore.add` does.
   */
  async bring(source: CheckpointSource, { files }: CheckpointListing, signal: AbortSignal): Promise<readonly StoredFile[]> {
    const beside = new Set(files.map(({ path }) => path));
    const brought: StoredFile[] = [];
    for (const file of sortByPath(files))
      brought.push({ path: file.path, ...(await this.#bring(source, file, beside, signal)), ...toBucketObject(file) });
    return brought;
  }

  async #bring(source: CheckpointSource, file: ListedFile, beside: ReadonlySet<string>, signal: AbortSignal): Promise<StoredObject> {
    // An index is whole or not by what else is there.
    const known = isShardIndex(file.path) ? undefined : this.#known.findDigest(file);
    const kept = known && (await this.#content.renew({ digest: known, size: file.size }));
    if (kept) return kept;
    const bytes = source.read(file, signal, new Uint8Array(Math.min(file.size, BLOCK_BYTES) + 1));
    const object = await this.#content.write(readWholeFile(file, bytes), file.size, (readAt, size) =>
      untrustedFiles.read('check', { path: file.path, address: file.address, size, beside }, readAt),
    );
    this.#known.remember(file, object.digest);
    return object;
  }
}

function toBucketObject({ isInBucket, address: uri, revision }: ListedFile): Pick<CheckpointFile, 'bucketObject'> {
  return isInBucket === true ? { bucketObject: { uri, revision } } : {};
}
