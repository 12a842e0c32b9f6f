import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A directory that is gone at the end of the test. */
export class ScratchDirectory implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<ScratchDirectory> {
    return new ScratchDirectory(await mkdtemp(join(tmpdir(), 'muster-test-')));
  }

  /** @returns the file's absolute path. */
  async put(path: string, content: string | Uint8Array): Promise<string> {
    const absolute = join(this.path, path);
    await mkdir(dirname(absolute), { recursive: true });
    await writeFile(absolute, content);
    return absolute;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
