import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const REPOSITORY = path.join(import.meta.dirname, '../..');

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Less than a test may take; a command that hangs is ended. */
const DEADLINE_MS = 500_000;

/** A directory of a new user, in which nothing of the repository is: its own home, with the caches of package managers alone in common. */
export class EmptyPlace implements AsyncDisposable {
  readonly directory: string;
  /** Put before what a command finds in PATH. */
  readonly #programs: readonly string[];

  private constructor(directory: string, programs: readonly string[]) {
    this.directory = directory;
    this.#programs = programs;
  }

  static async open(...programs: readonly string[]): Promise<EmptyPlace> {
    const directory = await realpath(await mkdtemp(path.join(tmpdir(), 'muster-package-')));
    return new EmptyPlace(directory, programs);
  }

  path(...parts: readonly string[]): string {
    return path.join(this.directory, ...parts);
  }

  async write(name: string, text: string): Promise<string> {
    await mkdir(path.dirname(this.path(name)), { recursive: true });
    await writeFile(this.path(name), text);
    return this.path(name);
  }

  /** Brings a file or directory of the repository. */
  async bring(source: string, name: string): Promise<void> {
    await cp(path.join(REPOSITORY, source), this.path(name), { recursive: true });
  }

  /** Of the new user. */
  environment(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const { PATH = '', HOME = '/' } = process.env;
    return {
      PATH: [...this.#programs, PATH].join(':'),
      HOME,
      XDG_DATA_HOME: this.path('data'),
      XDG_STATE_HOME: this.path('state'),
      ...more,
    };
  }

  run(command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
    const { promise, resolve } = Promise.withResolvers<CommandResult>();
    const options = { cwd: this.directory, env: this.environment(more), timeout: DEADLINE_MS, maxBuffer: 2 ** 26 };
    execFile(command, [...args], options, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ status, stdout, stderr });
    });
    return promise;
  }

  /** @throws when it does not end with 0. */
  async succeed(command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(command, args, more);
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}
