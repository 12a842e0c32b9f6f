import { open } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InputError, MusterError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { makeAbortable, type AbortableIteration } from './abortable.ts';
import { assertFileName, assertSize } from '../inspection/checkpoint-checks.ts';
import type { CheckpointStore } from '../store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../stored-checkpoint.ts';
import { translateErrors, writeAll } from '../files/store-files.ts';
import type { UsableFiles } from '../files/usable-files.ts';
import { isOf, UploadFiles, buildUploadKey, type UploadKey } from './upload-files.ts';

/** Says what is being sent: a file under its name, what it differs in from one that is here, or the manifest of a directory whose files are here. */
export type UploadContent = { readonly kind: 'file' | 'delta'; readonly name: string } | { readonly kind: 'manifest' };

/** A stretch of an upload. */
export interface UploadPart {
  /** The digest of the whole, which will name it. */
  readonly digest: Digest;
  /** The principal that began it. No other may continue it. */
  readonly uploader: string;
  readonly content: UploadContent;
  /** Files that a delta or a manifest of the uploader may name. */
  readonly usable: UsableFiles;
  /** The position of these bytes in the whole. At 0 the upload starts again, and earlier bytes are dropped. */
  readonly offset: number;
  /** The size of the whole, in bytes. */
  readonly size: number;
  /** At most the missing bytes. They are read as they are written: the sender is held back to the speed of the disk. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export type Uploaded =
  /** This many bytes have arrived. The next part begins there. */
  { readonly kind: 'partial'; readonly received: number } | { readonly kind: 'stored'; readonly checkpoint: StoredCheckpoint };

export interface UploadLimits {
  /** The limit for one checkpoint. */
  readonly maxBytes: number;
  /** An upload that is not continued is removed after this time. */
  readonly unfinishedMs: number;
}

/** The part does not begin where the last one ended. */
export class UploadOffsetError extends InputError {
  /** The position at which it has to begin. */
  readonly received: number;

  constructor(part: UploadPart, received: number) {
    super(
      'upload.offset',
      `upload of ${part.digest}: the part begins at byte ${part.offset}, and ${received} bytes have arrived; continue from byte ${received}, or start again from 0`,
    );
    this.received = received;
  }
}

/** A stream from which nothing comes for so long is given up. */
const IDLE_MS = 60_000;
/** A million lines of a manifest, and more than ten thousand of the longest. */
const MAX_MANIFEST_BYTES = 64 * 2 ** 20;

interface Active {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Checkpoints that callers send, piece by piece, each in a file that grows until it is whole; then it is verified in its place and moved into the
 * store. An upload has no other state, so it continues after a restart. Of several streams of one upload the latest wins: the connections of the
 * others have broken.
 */
export class Uploads implements AsyncDisposable {
  readonly #files: UploadFiles;
  readonly #store: CheckpointStore;
  readonly #limits: UploadLimits;
  readonly #clock: Clock;
  readonly #active = new Map<UploadKey, Active>();
  readonly #closing = new AbortController();

  private constructor(files: UploadFiles, store: CheckpointStore, limits: UploadLimits, clock: Clock) {
    this.#files = files;
    this.#store = store;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** @param directory on the same file system as the store's. @throws InfrastructureError `store.unusable` */
  static async open(directory: string, store: CheckpointStore, limits: UploadLimits, clock: Clock): Promise<Uploads> {
    return new Uploads(await UploadFiles.open(directory, clock), store, limits, clock);
  }

  /**
   * Receives bytes until they end, and stores the checkpoint once it is whole. When the stream breaks, the received bytes stay, and the next part
   * begins after them; wrong content is removed.
   *
   * @throws UploadOffsetError; InputError `checkpoint.too-large`, `checkpoint.path`, `upload.too-long`, `upload.stalled`, `upload.superseded`, and as
   * `CheckpointStore.adopt` and `assemble` do; InfrastructureError `store.full` (nothing of the upload is left), `store.unusable`; errors of `bytes`
   * as they are.
   */
  async append(part: UploadPart, signal: AbortSignal): Promise<Uploaded> {
    this.#assertAcceptable(part);
    const key = buildUploadKey(part.digest, part.uploader, part.content.kind);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const stop = new AbortController();
    const before = this.#active.get(key);
    this.#active.set(key, { stop, ended });
    try {
      before?.stop.abort(new InputError('upload.superseded', `upload of ${part.digest}: another stream continues it`));
      await before?.ended;
      const either = AbortSignal.any([signal, stop.signal, this.#closing.signal]);
      either.throwIfAborted();
      return await this.#append(part, key, either);
    } finally {
      if (this.#active.get(key)?.stop === stop) this.#active.delete(key);
      end();
    }
  }

  /** Counts the bytes that have come of an upload: where the next part begins. */
  async countReceived(digest: Digest, uploader: string, kind: UploadContent['kind'] = 'file'): Promise<number> {
    const path = await this.#files.take(buildUploadKey(digest, uploader, kind));
    return path === undefined ? 0 : this.#files.measureFile(path);
  }

  /** Sums the bytes that a principal's unfinished uploads hold. */
  async sumPendingBytes(uploader: string): Promise<number> {
    const own = (await this.#files.listAll()).filter(({ key }) => isOf(uploader, key));
    return own.reduce((sum, { size }) => sum + size, 0);
  }

  /** Removes uploads that were not continued. @returns how many. */
  async sweep(): Promise<number> {
    const before = this.#clock.date().getTime() - this.#limits.unfinishedMs;
    const abandoned = (await this.#files.listAll()).filter(({ key, touchedMs }) => touchedMs <= before && !this.#active.has(key));
    for (const { path } of abandoned) await this.#files.remove(path);
    return abandoned.length;
  }

  /** Ends the streams that are open; what has come stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('uploads are closing', 'AbortError'));
    await Promise.all([...this.#active.values()].map(({ ended }) => ended));
  }

  async #append(part: UploadPart, key: UploadKey, signal: AbortSignal): Promise<Uploaded> {
    const path = (await this.#files.take(key)) ?? this.#files.makePath(key);
    const received = await this.#files.measureFile(path);
    if (part.offset !== 0 && part.offset !== received) throw new UploadOffsetError(part, received);
    try {
      const size = await this.#write(path, part, signal);
      return size < part.size
        ? { kind: 'partial', received: size }
        : { kind: 'stored', checkpoint: await this.#finish(path, part, signal) };
    } catch (error) {
      if (isFinal(error)) await this.#files.remove(path);
      throw error;
    }
  }

  /** @returns the bytes that have come in all. */
  async #write(path: string, part: UploadPart, signal: AbortSignal): Promise<number> {
    await using handle = await translateErrors(path, () => open(path, part.offset === 0 ? 'w' : 'r+', 0o600));
    let size = part.offset;
    for await (const chunk of this.#readWithDeadline(part, signal)) {
      if (size + chunk.length > part.size)
        throw new InputError(
          'upload.too-long',
          `upload of ${part.digest}: more bytes came than the ${part.size} that were announced; start again`,
        );
      const position = size;
      await translateErrors(path, () => writeAll(handle, chunk, position));
      size += chunk.length;
    }
    return size;
  }

  async *#readWithDeadline(part: UploadPart, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const iteration = makeAbortable(part.bytes);
    try {
      for (let next = await this.#next(iteration, part, signal); next.done !== true; next = await this.#next(iteration, part, signal))
        yield next.value;
    } finally {
      iteration.leave();
    }
  }

  async #next(
    iteration: AbortableIteration<Uint8Array>,
    { digest }: UploadPart,
    signal: AbortSignal,
  ): Promise<IteratorResult<Uint8Array, unknown>> {
    const createTimeoutError = (): Error =>
      new InputError('upload.stalled', `upload of ${digest}: no bytes came for ${IDLE_MS / 1000} s; continue from where it ended`);
    using idle = new Deadline(this.#clock, IDLE_MS, createTimeoutError, signal);
    return await iteration.next(idle.signal);
  }

  async #finish(path: string, { digest, content, usable }: UploadPart, signal: AbortSignal): Promise<StoredCheckpoint> {
    switch (content.kind) {
      case 'file':
        return this.#store.adopt(path, content.name, digest, signal);
      case 'delta': {
        const stored = await this.#store.adoptDelta({ path, name: content.name, expected: digest, usable }, signal);
        await this.#files.remove(path);
        return stored;
      }
      case 'manifest': {
        const stored = await this.#store.assemble(path, digest, usable);
        await this.#files.remove(path);
        return stored;
      }
    }
  }

  #assertAcceptable({ digest, content, size }: UploadPart): void {
    switch (content.kind) {
      case 'file':
      case 'delta':
        assertFileName(content.name);
        return assertSize(digest, size, this.#limits.maxBytes);
      case 'manifest':
        return assertSize(`the manifest of ${digest}`, size, MAX_MANIFEST_BYTES);
    }
  }
}

/** Whether nothing that has come is of any use: it is wrong, or there is no room for it. */
function isFinal(error: unknown): boolean {
  return error instanceof MusterError && !RESUMABLE.has(error.code);
}

/** After these errors the upload continues from the bytes that have come. */
const RESUMABLE: ReadonlySet<string> = new Set(['upload.stalled', 'upload.superseded', 'store.unusable', 'store.removed']);
