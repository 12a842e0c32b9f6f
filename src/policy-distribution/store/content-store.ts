import { chmod, mkdir, open, readdir, rename, rm, utimes, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import { copyInto, digestFile, type Digested } from '../files/digested-copy.ts';
import { IncomingNames } from '../files/incoming-names.ts';
import { readFacts, translateErrors, readAt, syncDirectory } from '../files/store-files.ts';
import { digestObject, type Inspect, type StoredObject } from '../files/stored-object.ts';
import { UnsyncedObjects } from '../files/unsynced-objects.ts';
import { WithdrawnFiles } from '../files/withdrawn-files.ts';
import { ignoreMissing } from '../../kernel/errno.ts';

const NEVER = new AbortController().signal;
/** Bytes that are hashed between two touches of the file, some seconds' work. The touches show other processes that the file is in use. */
const BYTES_BETWEEN_TOUCHES = 2 ** 30;

/**
 * Says when a file is synced to the disk: before it gets its name, or afterwards, while it is in use. Its digest has been verified in both cases. The
 * sync only protects it from a power cut, and takes a disk some seconds for each gigabyte.
 */
export type Syncing = 'before' | 'behind';

/** Smaller files get no note: they are on the disk as soon as a note about them would be. */
const WORTH_NOTING_BYTES = 2 ** 24;

/**
 * Files stored under the sha256 of their content, each once: `objects/<hex>`, read-only. A file is written under a temporary name in `incoming/` and
 * gets its final name in one step: every file in `objects/` is complete, even after a crash, and any number of processes may share the directory
 * without locks. A file that gets its name before it is synced is noted in `unsynced/`, and verified by the next process that opens the store if the
 * writer is gone by then.
 *
 * An object's modification time is the last time that a caller brought it, whether it was stored already or not.
 */
export class ContentStore {
  readonly #objects: string;
  readonly #incoming: string;
  readonly #names: IncomingNames;
  readonly #clock: Clock;
  readonly #withdrawn: WithdrawnFiles;
  readonly #unsynced: UnsyncedObjects;
  readonly #syncing: Syncing;

  private constructor(
    directory: string,
    names: IncomingNames,
    clock: Clock,
    withdrawn: WithdrawnFiles,
    unsynced: UnsyncedObjects,
    syncing: Syncing,
  ) {
    this.#withdrawn = withdrawn;
    this.#unsynced = unsynced;
    this.#syncing = syncing;
    this.#objects = join(directory, 'objects');
    this.#incoming = join(directory, 'incoming');
    this.#names = names;
    this.#clock = clock;
  }

  /**
   * Makes the directory where there is none, and removes what dead processes left unfinished in it.
   *
   * @throws InfrastructureError `store.unusable`
   */
  static async open(directory: string, names: IncomingNames, clock: Clock, syncing: Syncing = 'before'): Promise<ContentStore> {
    const objects = join(directory, 'objects');
    await translateErrors(directory, () => mkdir(objects, { recursive: true }));
    const withdrawn = await WithdrawnFiles.open(objects, join(directory, 'withdrawn/objects'), names);
    const unsynced = await UnsyncedObjects.open(directory, names);
    const store = new ContentStore(directory, names, clock, withdrawn, unsynced, syncing);
    await translateErrors(directory, async () => {
      await mkdir(store.#incoming, { recursive: true });
      await store.#sweep();
      await store.#unsynced.recover(
        (digest) => store.#getPath(digest),
        (digest) => store.#isIntact(digest),
      );
    });
    return store;
  }

  /**
   * Stores the bytes and returns their digest. Errors of `bytes` and of `inspect` pass through, and nothing is stored.
   *
   * @param expectedSize of all bytes. @param inspect checks the whole file before it gets its final name, and may refuse it. @throws
   * InfrastructureError `store.full`, `store.unusable`
   */
  async write(bytes: AsyncIterable<Uint8Array>, expectedSize: number, inspect: Inspect): Promise<StoredObject> {
    const incoming = this.#makeIncomingPath();
    try {
      await using handle = await translateErrors(incoming, () => open(incoming, 'wx+', 0o600));
      const isBehind = this.#syncing === 'behind' && expectedSize >= WORTH_NOTING_BYTES;
      const { digest, size } = await copyInto(handle, incoming, bytes, expectedSize, { clock: this.#clock, isSynced: !isBehind });
      await inspect((position, length) => translateErrors(incoming, () => readAt(handle, position, length)), size, digest);
      return await translateErrors(incoming, () => this.#keep(handle, incoming, digest, size, isBehind));
    } finally {
      await rm(incoming, { force: true });
    }
  }

  /**
   * Moves a file on this disk into the store when it has the expected digest. It hashes the file on the disk and makes no copy. Otherwise the file
   * stays where it is.
   *
   * @param path of a file without another writer. @throws InputError `checkpoint.digest` when it is something else; and as `write` does.
   */
  async adopt(path: string, expected: Digest, signal: AbortSignal, inspect: Inspect): Promise<StoredObject> {
    await using handle = await translateErrors(path, () => open(path, 'r+'));
    const { digest, size } = await this.#hash(handle, path, signal);
    if (digest !== expected) {
      throw new InputError(
        'checkpoint.digest',
        `checkpoint: ${size} bytes came with the digest ${digest}; expected ${expected}. Was the file changed while it was sent? Send it again`,
      );
    }
    await inspect((position, length) => translateErrors(path, () => readAt(handle, position, length)), size, digest);
    const kept = await translateErrors(path, () => this.#keep(handle, path, digest, size));
    await rm(path, { force: true });
    return kept;
  }

  /** Resolves when everything that this process has written is on the disk. @throws InfrastructureError `store.full`, `store.unusable` */
  waitUntilSynced(): Promise<void> {
    return this.#unsynced.waitUntilSynced();
  }

  /** Returns undefined when it is not stored. @throws InfrastructureError `store.full`, `store.unusable` */
  async find(digest: Digest): Promise<StoredObject | undefined> {
    const hostPath = this.#getPath(digest);
    const facts = await translateErrors(hostPath, () => readFacts(hostPath));
    return facts && (await this.#ensureSynced({ digest, size: facts.size, hostPath }));
  }

  /** Counts as bringing it again. Returns undefined when it is not stored, or not completely. */
  async renew({ digest, size }: Digested): Promise<StoredObject | undefined> {
    const hostPath = this.#getPath(digest);
    const isThere = await translateErrors(
      hostPath,
      async () => (await readFacts(hostPath))?.size === size && (await this.#touch(hostPath)),
    );
    return isThere ? this.#ensureSynced({ digest, size, hostPath }) : undefined;
  }

  /** Removes an object whose content does not match its name. Processes that have it open or linked keep it. */
  async discard(digest: Digest): Promise<void> {
    await translateErrors(this.#getPath(digest), () => rm(this.#getPath(digest), { force: true }));
  }

  /** Puts back what ended processes were removing. @throws InfrastructureError `store.unusable` */
  async putBackAbandoned(): Promise<void> {
    await this.#withdrawn.putBackAbandoned();
  }

  /** Lists all stored objects. */
  async listDigests(): Promise<readonly Digest[]> {
    const names = await translateErrors(this.#objects, () => readdir(this.#objects));
    return names.map((name) => `sha256:${name}`).filter(isDigest);
  }

  /**
   * Removes an object unless a caller has brought it since, or a sandbox has it.
   *
   * @param untouchedSinceMs milliseconds since 1970. @param isWanted called once the object is out of reach; if true, it is put back. @returns the
   * freed bytes; undefined when it stays.
   */
  async remove(digest: Digest, untouchedSinceMs: number, isWanted: () => Promise<boolean>): Promise<number | undefined> {
    const hostPath = this.#getPath(digest);
    const isFree = async (path: string): Promise<number | undefined> => {
      const facts = await readFacts(path);
      return facts && !facts.isLinked && facts.touchedMs < untouchedSinceMs ? facts.size : undefined;
    };
    return translateErrors(hostPath, async () => {
      if ((await isFree(hostPath)) === undefined) return undefined;
      // Moved out of reach first: a caller that brings it from now on finds none and stores its own. A caller that found it before has touched it.
      const removed = await this.#withdrawn.withdraw(getDigestHex(digest));
      if (!removed) return undefined;
      const size = (await isWanted()) ? undefined : await isFree(removed.path);
      await (size === undefined ? removed.putBack() : removed.remove());
      return size;
    });
  }

  /** A file of another size under the final name is damaged: the verified one replaces it. */
  async #keep(handle: FileHandle, incoming: string, digest: Digest, size: number, isBehind = false): Promise<StoredObject> {
    const hostPath = this.#getPath(digest);
    if ((await readFacts(hostPath))?.size === size && (await this.#touch(hostPath))) return this.#ensureSynced({ digest, size, hostPath });
    await chmod(incoming, 0o444);
    const note = isBehind ? await this.#unsynced.note(digest) : undefined;
    if (note === undefined) await handle.sync();
    await rename(incoming, hostPath);
    if (note === undefined) await syncDirectory(this.#objects);
    await this.#touch(hostPath);
    if (note !== undefined) this.#unsynced.syncBehind(note, hostPath);
    return { digest, size, hostPath };
  }

  /** Syncs an object that another process may have stored without syncing it, before a caller receives it. */
  async #ensureSynced(object: StoredObject): Promise<StoredObject> {
    const { digest, size, hostPath } = object;
    if (this.#syncing === 'before' && size >= WORTH_NOTING_BYTES)
      await translateErrors(hostPath, () => this.#unsynced.syncNoted(digest, hostPath));
    return object;
  }

  /** Whether it is there and what it is called; what is anything else is taken out. */
  async #isIntact(digest: Digest): Promise<boolean> {
    const object = await this.find(digest);
    if (!object) return false;
    const isIntact = (await digestObject(object, NEVER)) === digest;
    if (!isIntact) await this.discard(digest);
    return isIntact;
  }

  /** @returns whether it is there. */
  async #touch(path: string): Promise<boolean> {
    const now = this.#clock.date();
    const touched = await utimes(path, now, now).then(() => true, ignoreMissing);
    return touched === true;
  }

  async #hash(handle: FileHandle, path: string, signal: AbortSignal): Promise<Digested> {
    const { size } = await translateErrors(path, () => handle.stat());
    return digestFile(handle, path, size, async (bytes) => {
      signal.throwIfAborted();
      if (bytes % BYTES_BETWEEN_TOUCHES === 0) await translateErrors(path, () => this.#touch(path));
    });
  }

  async #sweep(): Promise<void> {
    for (const name of await readdir(this.#incoming)) {
      const path = join(this.#incoming, name);
      const facts = await readFacts(path);
      if (facts && (await this.#names.isAbandoned(name, facts.touchedMs))) await rm(path, { force: true });
    }
  }

  #getPath(digest: Digest): string {
    return join(this.#objects, getDigestHex(digest));
  }

  #makeIncomingPath(): string {
    return join(this.#incoming, this.#names.next());
  }
}
