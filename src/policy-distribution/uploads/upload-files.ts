import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import type { Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import { IncomingNames } from '../files/incoming-names.ts';
import { readFacts, translateErrors, type FileFacts } from '../files/store-files.ts';
import { ignoreMissing } from '../../kernel/errno.ts';

/** Names an upload by its digest, its sender, and whether it is a delta. */
export type UploadKey = string;

/** Builds an upload's key. A delta has one of its own: a caller that gives it up and sends the whole file begins anew. */
export function buildUploadKey(digest: Digest, uploader: string, kind: 'file' | 'delta' | 'manifest'): UploadKey {
  return `${getDigestHex(digest)}${kind === 'delta' ? '-delta' : ''}.${hashUploader(uploader)}`;
}

interface UploadFile extends FileFacts {
  readonly key: UploadKey;
  /** A name of `IncomingNames`. */
  readonly owner: string;
  readonly path: string;
}

/** A process that cannot be seen from here has given an upload up when it has not written for so long: its own patience ends sooner. */
const ELSEWHERE_MS = 5 * 60_000;

/**
 * The files of unfinished uploads, `<digest>[-delta].<uploader>.<owner>`: only the process that a file belongs to writes it. Another process takes
 * the file of a dead one over by renaming it, which only one can.
 */
export class UploadFiles {
  readonly #directory: string;
  readonly #names: IncomingNames;

  private constructor(directory: string, names: IncomingNames) {
    this.#directory = directory;
    this.#names = names;
  }

  /** @throws InfrastructureError `store.unusable` */
  static async open(directory: string, clock: Clock): Promise<UploadFiles> {
    await translateErrors(directory, () => mkdir(directory, { recursive: true }));
    return new UploadFiles(directory, await IncomingNames.create(clock));
  }

  /** Makes the path at which an upload that has no file yet will be written. */
  makePath(key: UploadKey): string {
    return join(this.#directory, `${key}.${this.#names.next()}`);
  }

  /** Makes an upload's file this process's own, and returns its path; undefined when there is none, or another process is at it. */
  async take(key: UploadKey): Promise<string | undefined> {
    for (const file of await this.listAll()) {
      if (file.key !== key) continue;
      if (this.#names.isOwn(file.owner)) return file.path;
      if (!(await this.#names.isAbandoned(file.owner, file.touchedMs, ELSEWHERE_MS))) continue;
      const own = this.makePath(key);
      const isTaken = await translateErrors(file.path, () => rename(file.path, own).then(() => true, ignoreMissing));
      if (isTaken === true) return own;
    }
    return undefined;
  }

  async listAll(): Promise<readonly UploadFile[]> {
    const names = await translateErrors(this.#directory, () => readdir(this.#directory));
    const files = names.map(async (name) => {
      const path = join(this.#directory, name);
      const facts = await translateErrors(path, () => readFacts(path));
      const [digest, uploader, ...owner] = name.split('.');
      return facts ? [{ ...facts, key: `${digest}.${uploader}`, owner: owner.join('.'), path }] : [];
    });
    return (await Promise.all(files)).flat();
  }

  async measureFile(path: string): Promise<number> {
    return (await translateErrors(path, () => readFacts(path)))?.size ?? 0;
  }

  async remove(path: string): Promise<void> {
    await translateErrors(path, () => rm(path, { force: true }));
  }
}

export function isOf(uploader: string, key: UploadKey): boolean {
  return key.endsWith(`.${hashUploader(uploader)}`);
}

/** A principal's name may hold what a file's may not. */
function hashUploader(uploader: string): string {
  return createHash('sha256').update(uploader).digest('hex').slice(0, 16);
}
