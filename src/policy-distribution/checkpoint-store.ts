import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import {
  assertCheckpointPath,
  checkpointDigest,
  sortedByPath,
  type Checkpoint,
  type CheckpointFile,
  type CheckpointLabels,
} from './checkpoint.ts';
import {
  CheckpointChangedError,
  type CheckpointListing,
  type CheckpointSource,
  type ListedFile,
  type ListOptions,
} from './checkpoint-source.ts';
import { ContentStore, type StoredObject } from './content-store.ts';
import { readSafetensorsHeader } from './safetensors.ts';

/** A checkpoint of which every file lies on this machine, verified. */
export interface StoredCheckpoint extends Checkpoint {
  readonly files: readonly StoredFile[];
}

export interface StoredFile extends CheckpointFile {
  /** Absolute path of the one read-only copy; sandboxes link or mount it. */
  readonly hostPath: string;
}

export interface CheckpointLimits {
  /** For all files of one checkpoint together. */
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/**
 * Brings checkpoints onto this machine, each byte once, and names them. Nothing that is incomplete, changing or malformed gets a
 * name: the error says which file, and no sandbox has seen any of it.
 */
export class CheckpointStore {
  readonly #content: ContentStore;
  readonly #limits: CheckpointLimits;

  private constructor(content: ContentStore, limits: CheckpointLimits) {
    this.#content = content;
    this.#limits = limits;
  }

  /** @throws InfrastructureError `store.unusable` */
  static async open(options: {
    readonly directory: string;
    readonly limits: CheckpointLimits;
    readonly clock: Clock;
  }): Promise<CheckpointStore> {
    return new CheckpointStore(await ContentStore.open(options.directory, options.clock), options.limits);
  }

  /**
   * @throws InputError as the source has it, and `checkpoint.empty`, `checkpoint.too-large`, `checkpoint.safetensors`;
   * InfrastructureError `checkpoint.read`, `store.full`, `store.unusable`.
   */
  async add(source: CheckpointSource, uri: string, signal: AbortSignal, labels: CheckpointLabels = {}): Promise<StoredCheckpoint> {
    const options = { signal, maxFiles: this.#limits.maxFiles };
    return this.#keep(source, uri, options, await source.list(uri, options), labels);
  }

  /**
   * A directory of Python modules that a suite ships, kept and named as a checkpoint is; what Python itself writes between
   * them is left out, so that running the modules does not change their name.
   *
   * @throws InputError `checkpoint.not-a-directory`, and the errors of `add`.
   */
  async addDirectory(source: CheckpointSource, uri: string, signal: AbortSignal): Promise<StoredCheckpoint> {
    const options = { signal, maxFiles: this.#limits.maxFiles, ignores: isPythonCache };
    const listing = await source.list(uri, options);
    if (listing.kind === 'directory') return this.#keep(source, uri, options, listing, {});
    throw new InputError('checkpoint.not-a-directory', `${uri} is a file; expected a directory of Python modules`);
  }

  /**
   * One that was added before, of which only the names of its contents were kept.
   *
   * @throws InfrastructureError `store.content-missing` when a file of it is no longer there, or not whole.
   */
  async restore({ digest, kind, files, labels }: Checkpoint): Promise<StoredCheckpoint> {
    const stored: StoredFile[] = [];
    for (const file of files) {
      const object = await this.#content.find(file.digest, file.size);
      if (!object) {
        throw new InfrastructureError(
          'store.content-missing',
          `${file.path} of the checkpoint ${digest} (${file.digest}) is no longer in the checkpoint store; was its directory emptied? Ask for the evaluation again`,
        );
      }
      stored.push({ path: file.path, ...object });
    }
    return { digest, kind, files: stored, labels };
  }

  async #keep(
    source: CheckpointSource,
    uri: string,
    options: ListOptions,
    listing: CheckpointListing,
    labels: CheckpointLabels,
  ): Promise<StoredCheckpoint> {
    this.#assertAcceptable(uri, listing);
    const files: StoredFile[] = [];
    for (const file of sortedByPath(listing.files)) files.push({ path: file.path, ...(await this.#addFile(source, file, options.signal)) });
    if (files.length > 1) assertSameListing(uri, listing, await source.list(uri, options));
    return { digest: checkpointDigest(listing.kind, files), kind: listing.kind, files, labels };
  }

  async #addFile(source: CheckpointSource, file: ListedFile, signal: AbortSignal): Promise<StoredObject> {
    return this.#content.write(wholeFile(file, source.read(file, signal)), async (readAt) => {
      if (file.path.endsWith('.safetensors')) await readSafetensorsHeader(file.address, file.size, readAt);
    });
  }

  #assertAcceptable(uri: string, { files }: CheckpointListing): void {
    if (files.length === 0)
      throw new InputError('checkpoint.empty', `checkpoint: ${uri} has no files in it; expected the policy's weights`);
    const { maxBytes } = this.#limits;
    const total = files.reduce((sum, { size }) => sum + size, 0);
    if (total > maxBytes) {
      const message = `checkpoint: ${uri} has ${total} bytes, more than the ${maxBytes} allowed; raise checkpoints.maxBytes to accept it`;
      throw new InputError('checkpoint.too-large', message);
    }
    const paths = new Set<string>();
    for (const { path } of files) {
      assertCheckpointPath(path);
      if (paths.has(path)) throw new InputError('checkpoint.path', `checkpoint: ${uri} has two files at ${path}; expected one`);
      paths.add(path);
    }
  }
}

function isPythonCache(path: string): boolean {
  return path.endsWith('.pyc') || path === '__pycache__' || path.endsWith('/__pycache__');
}

/** Passes the file on, and on no account more or less of it than was listed. */
async function* wholeFile(file: ListedFile, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    if (read > file.size) throw new CheckpointChangedError(file.address, `more bytes came than the ${file.size} that were listed`);
    yield chunk;
  }
  if (read !== file.size) throw new CheckpointChangedError(file.address, `${read} bytes came, ${file.size} were listed`);
}

/** Files that were each whole may still be of two versions: the first read before a writer came by, the last after. */
function assertSameListing(uri: string, before: CheckpointListing, after: CheckpointListing): void {
  const left = new Map(after.files.map((file) => [file.path, file]));
  for (const { path, address, revision } of before.files) {
    const now = left.get(path);
    if (now === undefined) throw new CheckpointChangedError(address, 'it is gone');
    if (now.revision !== revision) throw new CheckpointChangedError(address, `was ${revision}, is ${now.revision}`);
    left.delete(path);
  }
  for (const { address } of left.values()) throw new CheckpointChangedError(address, `it is new in ${uri}`);
}
