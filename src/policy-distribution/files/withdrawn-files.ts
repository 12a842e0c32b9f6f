import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IncomingNames } from './incoming-names.ts';
import { readFacts, translateErrors } from './store-files.ts';
import { hasErrno, ignoreMissing } from '../../kernel/errno.ts';

/** A file that was moved out of reach. */
export interface WithdrawnFile {
  /** Its present path. */
  readonly path: string;
  putBack(): Promise<void>;
  remove(): Promise<void>;
}

/** `<name>.<owner>`: an owner has four parts, a name may have several. */
const NAMED = /^(?<name>.+)\.(?<owner>[0-9a-f]{16}\.\d+\.\d+\.[0-9a-f-]{36})$/;

/**
 * Files of one directory that are about to be removed. They are moved out of reach first; then Muster checks whether they are still needed,
 * and removes them only then. Files of a process that ended in between are put back, so that a kill loses nothing.
 */
export class WithdrawnFiles {
  readonly #home: string;
  readonly #directory: string;
  readonly #names: IncomingNames;

  private constructor(home: string, directory: string, names: IncomingNames) {
    [this.#home, this.#directory, this.#names] = [home, directory, names];
  }

  /**
   * @param home where the files belong. @param directory where they wait, on the same file system. @throws InfrastructureError
   * `store.unusable`
   */
  static async open(home: string, directory: string, names: IncomingNames): Promise<WithdrawnFiles> {
    const files = new WithdrawnFiles(home, directory, names);
    await translateErrors(directory, () => mkdir(directory, { recursive: true }));
    await files.putBackAbandoned();
    return files;
  }

  /** Returns undefined when there is no such file. The caller handles errors of the file system. */
  async withdraw(name: string): Promise<WithdrawnFile | undefined> {
    const path = join(this.#directory, `${name}.${this.#names.next()}`);
    if ((await rename(join(this.#home, name), path).then(() => true, ignoreMissing)) !== true) return undefined;
    return { path, putBack: () => this.#putBack(name, path), remove: () => rm(path, { force: true }) };
  }

  /** Puts back files of processes that have ended. @throws InfrastructureError `store.unusable` */
  async putBackAbandoned(): Promise<void> {
    await translateErrors(this.#directory, async () => {
      for (const entry of await readdir(this.#directory)) {
        const path = join(this.#directory, entry);
        const { name, owner } = NAMED.exec(entry)?.groups ?? {};
        const facts = await readFacts(path);
        if (name === undefined || owner === undefined || !facts) continue;
        if (await this.#names.isAbandoned(owner, facts.touchedMs)) await this.#putBack(name, path);
      }
    });
  }

  /** A file that has been stored again meanwhile stays. */
  async #putBack(name: string, path: string): Promise<void> {
    await link(path, join(this.#home, name)).catch(ignoreThereOrGone);
    await rm(path, { force: true });
  }
}

function ignoreThereOrGone(error: unknown): void {
  if (hasErrno(error, 'EEXIST', 'ENOENT')) return;
  throw error;
}
