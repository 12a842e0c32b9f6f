import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileContents } from '../../agents/arena/step-files.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';

/** Contents of files in a directory of this machine, each in a file of its own. */
export class FileContentsDirectory implements FileContents {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async keep(digest: Digest, content: Buffer): Promise<void> {
    const { directory, file } = this.#place(digest);
    try {
      if ((await stat(file).catch(() => undefined))?.size === content.length) return;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const temporary = `${file}.${randomBytes(6).toString('hex')}`;
      await writeFile(temporary, content, { mode: 0o600 });
      await rename(temporary, file);
    } catch (error) {
      throw new InfrastructureError('arena.contents', `${this.#directory}: a file of a step cannot be kept: ${getMessage(error)}`, {
        cause: error,
      });
    }
  }

  async read(digest: Digest): Promise<Buffer> {
    const { file } = this.#place(digest);
    let content: Buffer;
    try {
      content = await readFile(file);
    } catch (error) {
      throw new InfrastructureError('arena.contents', `${file}: a file of a step cannot be read: ${getMessage(error)}`, { cause: error });
    }
    if (digestBytes(content) === digest) return content;
    throw new InfrastructureError('arena.contents', `${file}: the file has been changed; it is not what its name says`);
  }

  #place(digest: Digest): { readonly directory: string; readonly file: string } {
    const hex = digest.slice('sha256:'.length);
    const directory = join(this.#directory, hex.slice(0, 2));
    return { directory, file: join(directory, hex) };
  }
}
