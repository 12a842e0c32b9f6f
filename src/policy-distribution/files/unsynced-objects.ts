import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import type { IncomingNames } from './incoming-names.ts';
import { readFacts, translateErrors, syncDirectory } from './store-files.ts';
import { ignoreMissing } from '../../kernel/errno.ts';

/**
 * Objects that have their names already but may not be on the disk yet. Each has a note in `unsynced/` by the process that wrote it. A note
 * is on the disk before its object gets a name, and is removed when the object is on the disk, too. So every object that a power cut may
 * have damaged has a note.
 */
export class UnsyncedObjects {
  readonly #directory: string;
  readonly #names: IncomingNames;
  readonly #syncing = new Set<Promise<void>>();

  private constructor(directory: string, names: IncomingNames) {
    this.#directory = join(directory, 'unsynced');
    this.#names = names;
  }

  /** @throws InfrastructureError `store.unusable` */
  static async open(directory: string, names: IncomingNames): Promise<UnsyncedObjects> {
    const objects = new UnsyncedObjects(directory, names);
    await translateErrors(directory, () => mkdir(objects.#directory, { recursive: true }));
    return objects;
  }

  /** Call it before the object gets its name. @returns the note's path. */
  async note(digest: Digest): Promise<string> {
    const path = join(this.#directory, `${this.#names.next()}.${getDigestHex(digest)}`);
    await writeFile(path, '', { flag: 'wx', mode: 0o600 });
    await syncDirectory(this.#directory);
    return path;
  }

  /** Syncs the object in the background, and removes it if that fails. `settled` reports the result. */
  syncBehind(note: string, hostPath: string): void {
    const syncing = translateErrors(hostPath, () => syncNotedObject(note, hostPath)).catch(async (error: unknown) => {
      await rm(hostPath, { force: true });
      throw error;
    });
    this.#syncing.add(syncing);
    void syncing.then(
      () => this.#syncing.delete(syncing),
      () => undefined,
    );
  }

  /**
   * Syncs an object that another process has noted. The note stays, as it belongs to that process. Call it after the object was found:
   * without a note its writer is done with it.
   */
  async syncNoted(digest: Digest, hostPath: string): Promise<void> {
    const noted = (await readdir(this.#directory)).some((name) => readNotedDigest(name) === digest);
    if (noted) await syncObject(hostPath);
  }

  /**
   * Resolves when all objects that this process has noted are on the disk. @throws InfrastructureError `store.full`, `store.unusable` for
   * objects that could not be written there.
   */
  async waitUntilSynced(): Promise<void> {
    await Promise.all(this.#syncing);
  }

  /**
   * Checks objects that ended processes have noted: a power cut may have damaged them.
   *
   * @param isIntact reads the object, and removes it unless it has its digest.
   */
  async recover(pathOf: (digest: Digest) => string, isIntact: (digest: Digest) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      const note = join(this.#directory, name);
      const [digest, facts] = [readNotedDigest(name), await readFacts(note)];
      // Whether a process of another boot or machine still runs is unknown. Reading the object again does no harm.
      if (!facts || !(await this.#names.isAbandoned(name, facts.touchedMs, Number.NEGATIVE_INFINITY))) continue;
      if (isDigest(digest) && (await isIntact(digest))) await syncNotedObject(note, pathOf(digest));
      else await rm(note, { force: true });
    }
  }
}

async function syncNotedObject(note: string, hostPath: string): Promise<void> {
  await syncObject(hostPath);
  // An object that was removed meanwhile needs no note.
  await rm(note, { force: true });
}

async function syncObject(hostPath: string): Promise<void> {
  await using handle = await open(hostPath, 'r').catch(ignoreMissing);
  if (!handle) return;
  await handle.sync();
  await syncDirectory(join(hostPath, '..'));
}

function readNotedDigest(name: string): string {
  return `sha256:${name.slice(name.lastIndexOf('.') + 1)}`;
}
