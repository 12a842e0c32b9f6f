import { chmod, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import { hasErrno } from '../../kernel/errno.ts';
import { readPlainDirectory } from './plain-directory.ts';

/** Installed dependencies as directories, each under the digest of its content. */
export class LayerStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @returns the digest. */
  async put(files: SourceFiles): Promise<string> {
    const digest = digestFiles(files);
    const place = join(this.#directory, digest);
    if ((await stat(place).catch(() => undefined)) !== undefined) return digest;
    await mkdir(this.#directory, { recursive: true });
    const part = await mkdtemp(join(this.#directory, 'part-'));
    for (const [path, { content, executable }] of files) {
      await mkdir(dirname(join(part, path)), { recursive: true });
      await writeFile(join(part, path), content);
      if (executable) await chmod(join(part, path), 0o755);
    }
    await rename(part, place).catch(async (error: unknown) => {
      await rm(part, { recursive: true, force: true });
      // Another process has stored the same meanwhile.
      if (!hasErrno(error, 'ENOTEMPTY') && !hasErrno(error, 'EEXIST')) throw error;
    });
    return digest;
  }

  /** @returns undefined when it is missing, or its content no longer matches its name. */
  async find(digest: string): Promise<SourceFiles | undefined> {
    const place = join(this.#directory, digest);
    if ((await stat(place).catch(() => undefined)) === undefined) return undefined;
    const files = await readPlainDirectory(place);
    if (digestFiles(files) === digest) return files;
    await rm(place, { recursive: true, force: true });
    return undefined;
  }
}
