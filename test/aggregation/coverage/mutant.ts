import { execFile } from 'node:child_process';
import { cp, mkdtempDisposable, readFile, symlink, writeFile } from 'node:fs/promises';
import type { DisposableTempDir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const COMMAND = 'bench/coverage/run.ts';
/** A third of a second quicker than the command. */
const CHECK = 'test/aggregation/coverage/check-rows.ts';
/** All that the study is made of. */
const COPIED = ['package.json', 'src/aggregation', 'src/kernel', 'bench/coverage', 'bench/benchmark.ts', 'bench/table-text.ts', CHECK];

/** A mistake that a developer could make. */
export interface Mutant {
  readonly name: string;
  /** Below src/aggregation. */
  readonly file: string;
  /** Texts, each of which the file has exactly once, and what stands in their place. */
  readonly edits: readonly (readonly [was: string, is: string])[];
}

export interface StudyResult {
  readonly exitCode: number | string | null | undefined;
  readonly output: string;
}

/** A copy of the code, outside of the project, in which mistakes can be made. */
export class StudyCopy implements AsyncDisposable {
  readonly #directory: DisposableTempDir;

  private constructor(directory: DisposableTempDir) {
    this.#directory = directory;
  }

  static async create(): Promise<StudyCopy> {
    const directory = await mkdtempDisposable(join(tmpdir(), 'muster-mutant-'));
    for (const path of COPIED) await cp(join(PROJECT, path), join(directory.path, path), { recursive: true });
    await symlink(join(PROJECT, 'node_modules'), join(directory.path, 'node_modules'));
    return new StudyCopy(directory);
  }

  /** Checks a row of the short study in a process of its own, on the code as it is. */
  check(row: string): Promise<StudyResult> {
    return this.#run(CHECK, row);
  }

  /** The same by the study's command. */
  command(row: string): Promise<StudyResult> {
    return this.#run(COMMAND, '--short', '--threads', '1', '--only', row);
  }

  #run(...args: readonly string[]): Promise<StudyResult> {
    const { path } = this.#directory;
    const options = { cwd: path, env: { NODE_COMPILE_CACHE: join(path, 'compiled') }, timeout: 60_000, killSignal: 'SIGKILL' } as const;
    const { promise, resolve } = Promise.withResolvers<StudyResult>();
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
  async mistaken({ file, edits }: Mutant, run: () => Promise<StudyResult>): Promise<StudyResult> {
    const path = join(this.#directory.path, 'src/aggregation', file);
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
