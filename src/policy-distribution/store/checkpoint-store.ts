import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { assertAcceptable, assertFileName, type CheckpointLimits } from '../inspection/checkpoint-checks.ts';
import { BroughtFiles } from './brought-files.ts';
import { CheckpointRecords, type Hold, type RecordedCheckpoint } from './checkpoint-records.ts';
import type { CheckpointListing, CheckpointSource, ListOptions } from '../checkpoint-source.ts';
import { digestCheckpoint, type BucketObject, type Checkpoint, type CheckpointLabels } from '../checkpoint.ts';
import { ContentStore, type Syncing } from './content-store.ts';
import type { StoredCheckpoint } from '../stored-checkpoint.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';
import type { StoredObject } from '../files/stored-object.ts';
import { checkFilesHere, readManifestFiles, listRestoredFiles, findFilesHere } from './files-here.ts';
import { IncomingNames } from '../files/incoming-names.ts';
import { assertSameListing } from '../files/listed-files.ts';
import { PackedFiles } from './packed-files.ts';
import { keepDelta, type SentDelta } from './sent-delta.ts';
import { RecentMarks } from './recent-marks.ts';
import { SharedHolds } from './shared-holds.ts';
import { StoredContents } from './stored-contents.ts';
import { StoreVerification, type VerificationOptions, type VerifiedStore } from './store-verification.ts';
import type { UsableFiles } from '../files/usable-files.ts';
import { StoreRetention, type Retained, type Retention, type RetentionParts } from './store-retention.ts';

export interface CheckpointStoreOptions {
  readonly directory: string;
  readonly limits: CheckpointLimits;
  readonly clock: Clock;
  /** Limits on what `add` stores; `before` when left out. */
  readonly syncing?: Syncing;
}

/**
 * Stores checkpoints on this machine, each byte once, and names them by digest. An incomplete, changing or malformed file gets no name: the error
 * names it, and no sandbox has seen any of it.
 *
 * It is the only entrance: every checkpoint (added, uploaded, as a delta, as a manifest) gets the same record.
 */
export class CheckpointStore {
  readonly #parts: RetentionParts;
  readonly #retention: StoreRetention;
  readonly #limits: CheckpointLimits;
  readonly #brought: BroughtFiles;
  readonly #marks: RecentMarks;
  readonly #holds: SharedHolds;

  private constructor(parts: RetentionParts, limits: CheckpointLimits) {
    this.#parts = parts;
    this.#brought = new BroughtFiles(parts.plain);
    this.#holds = new SharedHolds((digest) => parts.records.hold(digest));
    this.#retention = new StoreRetention(parts);
    this.#limits = limits;
    this.#marks = new RecentMarks(parts.clock);
  }

  /** @throws InfrastructureError `store.unusable` */
  static async open({ directory, limits, clock, syncing }: CheckpointStoreOptions): Promise<CheckpointStore> {
    const names = await IncomingNames.create(clock);
    const plain = await ContentStore.open(directory, names, clock, syncing);
    const packed = await PackedFiles.open(directory, names);
    const records = await CheckpointRecords.open(directory, names, clock);
    return new CheckpointStore({ plain, packed, contents: new StoredContents(plain, packed), records, clock }, limits);
  }

  /**
   * @throws InputError as the source has it, and `checkpoint.empty`, `checkpoint.too-large`, `checkpoint.safetensors`, `checkpoint.shards`;
   * InfrastructureError `checkpoint.read`, `store.full`, `store.unusable`.
   */
  async add(source: CheckpointSource, uri: string, signal: AbortSignal, labels: CheckpointLabels = {}): Promise<StoredCheckpoint> {
    const options = { signal, maxFiles: this.#limits.maxFiles };
    return this.#keep(source, uri, options, await source.list(uri, options), labels);
  }

  /**
   * Adds a directory that a suite ships, stored and named like a checkpoint.
   *
   * @param ignores for Python modules, the files that Python itself writes, so that running them does not change their digest. @throws InputError
   * `checkpoint.not-a-directory`, and the errors of `add`.
   */
  async addDirectory(
    source: CheckpointSource,
    uri: string,
    signal: AbortSignal,
    ignores: (path: string) => boolean = isPythonCache,
  ): Promise<StoredCheckpoint> {
    const options = { signal, maxFiles: this.#limits.maxFiles, ignores };
    const listing = await source.list(uri, options);
    if (listing.kind === 'directory') return this.#keep(source, uri, options, listing, {});
    throw new InputError('checkpoint.not-a-directory', `${uri} is a file; expected a directory`);
  }

  /**
   * Restores a checkpoint that was added before, of which only the digests are known.
   *
   * @throws InfrastructureError `store.content-missing` when a file of it is missing or incomplete.
   */
  async restore({ digest, kind, files, labels }: Checkpoint): Promise<StoredCheckpoint> {
    const stored = await listRestoredFiles(digest, files, this.#parts.contents);
    const restored = { digest, kind, files: stored, labels };
    // The record is written again, so that the checkpoint can be held even if its record was removed before its files were.
    if (this.#parts.records.isFresh(digest)) return restored;
    if (await this.#parts.records.read(digest)) await this.#parts.records.touch(digest);
    else await this.#record(restored);
    return restored;
  }

  async #keep(
    source: CheckpointSource,
    uri: string,
    options: ListOptions,
    listing: CheckpointListing,
    labels: CheckpointLabels,
  ): Promise<StoredCheckpoint> {
    assertAcceptable(uri, listing.files, this.#limits);
    const marked = await this.#findMarked(listing);
    if (marked) return { ...marked, labels };
    const files = await this.#brought.bring(source, listing, options.signal);
    if (files.length > 1) assertSameListing(uri, listing, await source.list(uri, options));
    return this.#record({ digest: digestCheckpoint(listing.kind, files), kind: listing.kind, files, labels });
  }

  /**
   * Stores a file that came to this machine in another way, under a name that gives its format; it is moved. Nothing is stored unless it has its
   * digest.
   *
   * @param path of the file, which has no other writer. @param name of the checkpoint's only file. @throws InputError `checkpoint.digest`,
   * `checkpoint.path`, `checkpoint.too-large`, `checkpoint.safetensors`; InfrastructureError `store.full`, `store.unusable`.
   */
  async adopt(path: string, name: string, expected: Digest, signal: AbortSignal): Promise<StoredCheckpoint> {
    assertFileName(name);
    const object = await this.#parts.plain.adopt(path, expected, signal, (readAt, size) =>
      untrustedFiles.read('check', { path: name, address: name, size }, readAt),
    );
    return this.#record({ digest: expected, kind: 'file', files: [{ path: name, ...object }], labels: {} });
  }

  /**
   * Adopts a file that a delta encodes on a base that is here; the delta stays where it is.
   *
   * @throws as `keepDelta` does, and InputError `checkpoint.path`.
   */
  async adoptDelta(sent: Omit<SentDelta, 'maxBytes'>, signal: AbortSignal): Promise<StoredCheckpoint> {
    const { name, expected } = sent;
    assertFileName(name);
    const object = await keepDelta({ ...sent, maxBytes: this.#limits.maxBytes }, this.#parts.plain, this.#parts.contents, signal);
    return this.#record({ digest: expected, kind: 'file', files: [{ path: name, ...object }], labels: {} });
  }

  /**
   * Assembles a directory of files that are all here already from the text whose SHA-256 is its digest: `<sha256 hex>  <path>` a line, sorted by path
   * in byte order.
   *
   * @param path of the text, which stays where it is. @throws InputError `checkpoint.manifest`, `checkpoint.too-many-files`, `checkpoint.digest`,
   * `checkpoint.incomplete` (with the first digests that are missing), and as `adopt` does.
   */
  async assemble(path: string, expected: Digest, usable: UsableFiles): Promise<StoredCheckpoint> {
    const files = await readManifestFiles({ path, maxFiles: this.#limits.maxFiles }, expected, this.#parts.contents, usable);
    assertAcceptable(expected, files, this.#limits);
    await checkFilesHere(files);
    return this.#record({ digest: expected, kind: 'directory', files, labels: {} });
  }

  /**
   * Finds a stored, complete checkpoint. Counts as a use. Hold it to keep it for longer than an hour.
   *
   * @param name for the file of a checkpoint with one file, when another name was stored for the same digest. @returns undefined when it is not
   * stored, or not completely.
   */
  async find(digest: Digest, name?: string): Promise<StoredCheckpoint | undefined> {
    const record = await this.#parts.records.read(digest);
    const found = record && (await this.#findObjects(record));
    if (!found) return undefined;
    await this.#parts.records.touch(digest);
    const [first] = found.files;
    if (name === undefined || found.kind !== 'file' || first === undefined) return found;
    assertFileName(name);
    return { ...found, files: [{ ...first, path: name }] };
  }

  /** Finds the object of a bucket that a checkpoint's file was read from; undefined when it came otherwise. */
  async findBucketObject(checkpoint: Digest, file: Digest): Promise<BucketObject | undefined> {
    return (await this.#parts.records.read(checkpoint))?.files.find(({ digest }) => digest === file)?.bucketObject;
  }

  /** Finds a stored file of any checkpoint, by its own digest. @throws InfrastructureError `store.damaged`, `store.unusable` */
  findFile(digest: Digest): Promise<StoredObject | undefined> {
    return this.#parts.contents.find(digest);
  }

  /** Keeps the checkpoint until disposed. @returns undefined when it is no longer recorded, so that its files may be gone. */
  hold(digest: Digest): Promise<Hold | undefined> {
    return this.#holds.hold(digest);
  }

  /**
   * Stores unused files as deltas where that is smaller, and removes the least recently used checkpoints until the rest fits, and files without a
   * checkpoint. Keeps everything that any process holds, that is needed, or that was used within the last hour.
   *
   * @throws InfrastructureError `store.full`, `store.unusable`
   */
  retain(retention: Retention, signal: AbortSignal): Promise<Retained> {
    return this.#retention.retain(retention, signal);
  }

  /** Resolves when everything that this process has stored is on the disk. @throws InfrastructureError `store.full`, `store.unusable` */
  waitUntilSynced(): Promise<void> {
    return this.#parts.plain.waitUntilSynced();
  }

  /** Reads all that is here. @throws InfrastructureError `store.unusable`; the signal's reason. */
  verify(options: VerificationOptions): Promise<VerifiedStore> {
    return new StoreVerification(this.#parts, options).run();
  }

  /** @throws InfrastructureError `store.removed` when a file was removed before it was recorded as this checkpoint's. */
  async #record(stored: StoredCheckpoint): Promise<StoredCheckpoint> {
    // A manifest's text has the directory's digest: as a file it does not take the directory's place, which others may be using.
    const isTaken = stored.kind === 'file' && (await this.#parts.records.read(stored.digest))?.kind === 'directory';
    if (!isTaken) await this.#parts.records.write(stored);
    if (await this.#findObjects(stored)) {
      this.#marks.note(buildMark(stored));
      return stored;
    }
    throw new InfrastructureError('store.removed', `store: files of ${stored.digest} were removed while it was added; add it again`);
  }

  /**
   * Finds a checkpoint all of whose files are unchanged since this process stored it, and still stored; undefined when it has to be examined again.
   */
  async #findMarked({ kind, files: listed }: CheckpointListing): Promise<StoredCheckpoint | undefined> {
    const files = this.#brought.recall(listed);
    if (files === undefined) return undefined;
    const checkpoint = { digest: digestCheckpoint(kind, files), kind, files };
    return this.#marks.has(buildMark(checkpoint)) ? this.#findObjects(checkpoint) : undefined;
  }

  async #findObjects({ digest, kind, files }: RecordedCheckpoint): Promise<StoredCheckpoint | undefined> {
    const found = await findFilesHere(files, this.#parts.contents);
    return found && { digest, kind, files: found, labels: {} };
  }
}

/** Builds the mark with the names of its files, which its digest may not determine. */
function buildMark({ digest, files }: RecordedCheckpoint): string {
  return JSON.stringify([digest, ...files.map(({ path }) => path)]);
}

function isPythonCache(path: string): boolean {
  return /\.pyc$|(^|\/)__pycache__$/.test(path);
}
