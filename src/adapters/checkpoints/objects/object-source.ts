import { raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InputError, MusterError } from '../../../kernel/errors.ts';
import { assertFileName } from '../../../policy-distribution/inspection/checkpoint-checks.ts';
import { assertCheckpointPath } from '../../../policy-distribution/checkpoint.ts';
import { getDataFileName } from '../../../policy-distribution/data-beside.ts';
import {
  CheckpointChangedError,
  type CheckpointListing,
  type CheckpointSource,
  type ListedFile,
  type ListOptions,
} from '../../../policy-distribution/checkpoint-source.ts';
import { ResumedReading, type ReopenableFile } from '../resumed-reading.ts';
import { createBrokenReadError, retry } from '../retries.ts';
import { parseObjectLocation, ObjectStoreError, type FoundObject, type ObjectLocation, type ObjectStore } from './object-store.ts';

/** Another version has another revision, and readers can get a link to it. */
const IN_BUCKET = { isSettled: true, isInBucket: true } as const;
/** The longest wait for an answer, or for the next page of a listing. */
const ANSWER_MS = 30_000;

/**
 * Checkpoints in the buckets of an object store. A URI is an object's name, for a file; or the part before a slash of several objects' names, for a
 * directory. The store itself distinguishes versions: a read gives the listed content or fails, and changed content always has another generation
 * or entity tag.
 */
export class ObjectSource implements CheckpointSource {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #allowed: readonly string[] | undefined;

  /** @param allowed prefixes of URIs, buckets or prefixes in them: for untrusted callers, whose requests use the server's credentials. */
  constructor(store: ObjectStore, clock: Clock, allowed?: readonly string[]) {
    this.#store = store;
    this.#clock = clock;
    this.#allowed = allowed;
  }

  async list(uri: string, options: ListOptions) {
    const { signal } = options;
    signal.throwIfAborted();
    const place = parseObjectLocation(uri);
    this.#assertAllowed(uri);
    const found = isDirectoryName(place.name) ? undefined : await this.#find(uri, place, signal);
    if (found) return await this.#listSingleFile(uri, place, getFile(uri, found), signal);
    return { kind: 'directory' as const, files: await this.#listDirectory(uri, place, options) };
  }

  /** Lists the file alone, or a directory of the file and the weights beside it. */
  async #listSingleFile(uri: string, { bucket }: ObjectLocation, file: ListedFile, signal: AbortSignal): Promise<CheckpointListing> {
    const besideUri = getDataFileName(uri);
    if (besideUri === undefined) return { kind: 'file', files: [file] };
    this.#assertAllowed(besideUri);
    const beside = await this.#find(besideUri, { bucket, name: parseObjectLocation(besideUri).name }, signal);
    if (beside === undefined) return { kind: 'file', files: [file] };
    return { kind: 'directory', files: [file, getFile(besideUri, beside)] };
  }

  async *read(file: ListedFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    signal.throwIfAborted();
    const place = parseObjectLocation(file.address);
    this.#assertAllowed(file.address);
    yield* new ResumedReading(this.#makeReopenable(file, place), this.#clock, signal).bytes();
    const now = await this.#find(file.address, place, signal);
    if (!now) throw new CheckpointChangedError(file.address, 'it is gone');
    if (now.revision !== file.revision) throw new CheckpointChangedError(file.address, `was ${file.revision}, is ${now.revision}`);
  }

  readFrom(file: ListedFile, from: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    this.#assertAllowed(file.address);
    return new ResumedReading(this.#makeReopenable(file, parseObjectLocation(file.address)), this.#clock, signal, from).bytes();
  }

  #assertAllowed(uri: string): void {
    if (this.#allowed === undefined || this.#allowed.some((prefix) => isBelow(prefix, uri))) return;
    const remedy = 'expected one in one of sources.buckets; ask an operator to add it, or upload the checkpoint';
    throw new InputError('checkpoint.outside', `checkpoint: ${uri} is in no bucket that may be read; ${remedy}`);
  }

  #makeReopenable(file: ListedFile, place: ObjectLocation): ReopenableFile {
    return {
      file,
      isVersioned: true,
      open: (from, signal) =>
        this.#request(file.address, signal, async (either) => {
          try {
            return await this.#store.open(place, file.revision, from, either);
          } catch (error) {
            const isOther = error instanceof ObjectStoreError && (error.status === 404 || error.status === 412);
            throw isOther ? new CheckpointChangedError(file.address, `${file.revision} no longer exists`) : error;
          }
        }),
    };
  }

  #find(address: string, place: ObjectLocation, signal: AbortSignal): Promise<FoundObject | undefined> {
    return retry(this.#clock, signal, () => this.#request(address, signal, (either) => this.#store.find(place, either)));
  }

  async #listDirectory(uri: string, place: ObjectLocation, { signal, maxFiles, ignores }: ListOptions): Promise<readonly ListedFile[]> {
    const prefix = isDirectoryName(place.name) ? place.name : `${place.name}/`;
    const files: ListedFile[] = [];
    let isThere = false;
    for await (const { name, size, revision } of this.#listBelow(uri, { bucket: place.bucket, name: prefix }, signal)) {
      isThere = true;
      const path = name.slice(prefix.length);
      // The stores' own web consoles create such objects to show a directory.
      if (isDirectoryName(path) || isIgnored(path, ignores)) continue;
      assertCheckpointPath(path);
      if (files.length >= maxFiles) throw createTooManyFilesError(uri, maxFiles);
      files.push({ path, size, address: `${getRoot(uri)}/${name}`, revision, ...IN_BUCKET });
    }
    if (!isThere) throw createMissingError(uri);
    return files;
  }

  async *#listBelow(uri: string, place: ObjectLocation, signal: AbortSignal): AsyncGenerator<FoundObject> {
    let token: string | undefined;
    do {
      const from = token;
      const page = await retry(this.#clock, signal, () => this.#request(uri, signal, (either) => this.#store.page(place, from, either)));
      yield* page.objects;
      token = page.next;
    } while (token !== undefined);
  }

  /** @param ask receives a signal that is aborted when it takes too long. */
  async #request<Value>(address: string, signal: AbortSignal, ask: (either: AbortSignal) => Promise<Value>): Promise<Value> {
    const createTimeoutError = (): Error =>
      createBrokenReadError(address, `${this.#store.name} did not answer within ${ANSWER_MS / 1000} s`);
    using deadline = new Deadline(this.#clock, ANSWER_MS, createTimeoutError, signal);
    try {
      return await raceWithAbort(ask(deadline.signal), deadline.signal);
    } catch (error) {
      deadline.signal.throwIfAborted();
      throw this.#translateError(address, error);
    }
  }

  #translateError(address: string, error: unknown): MusterError {
    if (error instanceof MusterError) return error;
    if (!(error instanceof ObjectStoreError)) throw error;
    const { status, message, isUnsigned } = error;
    if (isUnsigned || status === 401 || status === 403) {
      const text = `checkpoint: ${address} may not be read: ${message}; ${this.#store.signIn}`;
      return new InputError('checkpoint.unreadable', text, { cause: error });
    }
    if (status === 404) return createMissingError(address, error);
    const mayPass = status === undefined || status === 408 || status === 429 || status >= 500;
    if (mayPass) return createBrokenReadError(address, `${this.#store.name}: ${message}`, error);
    return new InputError(
      'checkpoint.unreadable',
      `checkpoint: ${address} cannot be read: ${this.#store.name} answered ${status}: ${message}`,
      {
        cause: error,
      },
    );
  }
}

/** Tells whether a name stands for everything below it: a whole bucket, or a name with a final slash. */
function isDirectoryName(name: string): boolean {
  return name === '' || name.endsWith('/');
}

function isIgnored(path: string, ignores: ListOptions['ignores']): boolean {
  if (ignores === undefined) return false;
  const parts = path.split('/');
  return parts.some((_, i) => ignores(parts.slice(0, i + 1).join('/')));
}

function getFile(uri: string, { name, size, revision }: FoundObject): ListedFile {
  const path = name.slice(name.lastIndexOf('/') + 1);
  assertFileName(path);
  return { path, size, address: uri, revision, ...IN_BUCKET };
}

function isBelow(prefix: string, uri: string): boolean {
  return uri === prefix || uri.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
}

/** Returns scheme and bucket. */
function getRoot(uri: string): string {
  return /^[a-z0-9]+:\/\/[^/]*/i.exec(uri)?.[0] ?? uri;
}

function createMissingError(uri: string, cause?: unknown): InputError {
  return new InputError('checkpoint.missing', `checkpoint: ${uri} does not exist; check the bucket and the name`, { cause });
}

function createTooManyFilesError(uri: string, maxFiles: number): InputError {
  const remedy = 'name the checkpoint itself, not a prefix around it, or raise checkpoints.maxFiles';
  return new InputError('checkpoint.too-many-files', `checkpoint: ${uri} holds more than ${maxFiles} files; ${remedy}`);
}
