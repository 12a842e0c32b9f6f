import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import type { IncomingNames } from './incoming-names.ts';
import { readFacts, translateErrors, syncDirectory, ignoreMissing } from './store-files.ts';

/**
 * Which objects have their names already, and may not be on the disk yet: notes in `unsynced/`, each by the process that wrote the object. A note
 * is on the disk before its object has a name, and goes when the object is on the disk, too. So what a power cut may have spoilt has a note.
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

  /** Before the object gets its name. @returns the note's path. */
  async note(digest: Digest): Promise<string> {
    const path = join(this.#directory, `${this.#names.next()}.${getDigestHex(digest)}`);
    await writeFile(path, '', { flag: 'wx', mode: 0o600 });
    await syncDirectory(this.#directory);
    return path;
  }

  /** Has the object synced while others go on, and takes out one that cannot be. What becomes of that `settled` says. */
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
   * Puts an object on the disk that a process has noted. The note stays: it is theirs. Asked once the object was found: if there is no note then, its
   * writer is done with it.
   */
  async syncNoted(digest: Digest, hostPath: string): Promise<void> {
    const noted = (await readdir(this.#directory)).some((name) => readNotedDigest(name) === digest);
    if (noted) await syncObject(hostPath);
  }

  /** When all that this process has noted is on the disk. @throws InfrastructureError `store.full`, `store.unusable` for what could not be put there. */
  async waitUntilSynced(): Promise<void> {
    await Promise.all(this.#syncing);
  }

  /**
   * Those that processes have noted which are gone: maybe with the power.
   *
   * @param isIntact reads the object, and takes it out unless it is what it is called.
   */
  async recover(pathOf: (digest: Digest) => string, isIntact: (digest: Digest) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      const note = join(this.#directory, name);
      const [digest, facts] = [readNotedDigest(name), await readFacts(note)];
      // Whether a process of another boot or machine lives cannot be known. Reading the object anew does no harm.
      if (!facts || !(await this.#names.isAbandoned(name, facts.touchedMs, Number.NEGATIVE_INFINITY))) continue;
      if (isDigest(digest) && (await isIntact(digest))) await syncNotedObject(note, pathOf(digest));
      else await rm(note, { force: true });
    }
  }
}

async function syncNotedObject(note: string, hostPath: string): Promise<void> {
  await syncObject(hostPath);
  // One that was removed meanwhile needs no note.
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
