import { execFile } from 'node:child_process';
import { cp, mkdtempDisposable, readFile, symlink, writeFile, type DisposableTempDir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** A mistake that a developer could make. */
export interface Mistake {
  /** From the root of the project. */
  readonly file: string;
  /** Texts, each of which the file has exactly once, and what stands in their place. */
  readonly edits: readonly (readonly [was: string, is: string])[];
}

export interface RunResult {
  readonly exitCode: number | string | null | undefined;
  readonly output: string;
}

/** A copy of a part of the code, outside of the project, in which mistakes can be made. */
export class MistakenCopy implements AsyncDisposable {
  readonly #directory: DisposableTempDir;

  private constructor(directory: DisposableTempDir) {
    this.#directory = directory;
  }

  /** @param paths from the root of the project. */
  static async create(paths: readonly string[]): Promise<MistakenCopy> {
    const directory = await mkdtempDisposable(join(tmpdir(), 'muster-mutant-'));
    for (const path of ['package.json', ...paths]) await cp(join(PROJECT, path), join(directory.path, path), { recursive: true });
    await symlink(join(PROJECT, 'node_modules'), join(directory.path, 'node_modules'));
    return new MistakenCopy(directory);
  }

  /** Runs Node in a process of its own, on the code as it is. */
  run(...args: readonly string[]): Promise<RunResult> {
    const { path } = this.#directory;
    const options = { cwd: path, env: { NODE_COMPILE_CACHE: join(path, 'compiled') }, timeout: 60_000, killSignal: 'SIGKILL' } as const;
    const { promise, resolve } = Promise.withResolvers<RunResult>();
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : error.code, output: `${stdout}${stderr}` });
    });
    return promise;
  }

  /**
   * Does something with a mistake in the code, which is right again afterwards.
   *
   * @throws Error when the mistake cannot be made because a text is no longer there, or is there twice.
   */
  async mistaken({ file, edits }: Mistake, run: () => Promise<RunResult>): Promise<RunResult> {
    const path = join(this.#directory.path, file);
    const right = await readFile(path, 'utf8');
    let wrong = right;
    for (const [was, is] of edits) {
      const times = wrong.split(was).length - 1;
      if (times !== 1) throw new Error(`${file}: expected exactly once, found ${times} times: ${was}`);
      wrong = wrong.replace(was, () => is);
    }
    try {
      await writeFile(path, wrong);
      return await run();
    } finally {
      await writeFile(path, right);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#directory.remove();
  }
}
