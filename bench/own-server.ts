import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { dependent } from '../scripts/dependent-process.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { readProc } from './process-tree.ts';

/** `muster serve` in a process of its own, with a state directory of its own, on a port of its own. */
export class OwnServer implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #directory: string;

  private constructor(url: string, process: ChildProcess, directory: string) {
    this.url = url;
    this.#process = process;
    this.#directory = directory;
  }

  /** @param suites by their names, as they would stand in files. @param config besides what it says itself. */
  static async start(suites: Readonly<Record<string, object>>, config: object): Promise<OwnServer> {
    const directory = await mkdtemp(join(tmpdir(), 'muster-bench-'));
    const paths = Object.keys(suites).map((name) => [name, join(directory, `${name}.json`)] as const);
    for (const [name, path] of paths) await writeFile(path, JSON.stringify(suites[name]));
    const server = { port: 0, suites: Object.fromEntries(paths), drainSeconds: 0 };
    const file = join(directory, 'muster.json');
    await writeFile(file, JSON.stringify({ stateDir: join(directory, 'state'), sources: { roots: [PACKAGE_ROOT] }, ...config, server }));
    // Variables for benchmarks are no settings of the server.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MUSTER_')));
    const child = spawn(...dependent(join(PACKAGE_ROOT, 'muster'), ['serve', '--config', file]), {
      env,
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    for await (const line of createInterface({ input: child.stderr })) {
      const url = /listening on (http:\S+?);/.exec(line)?.[1];
      if (url !== undefined) return new OwnServer(url, child, directory);
    }
    throw new Error('muster serve has ended before it listened');
  }

  /** Memory that its process has, in bytes; its sandboxes are others. */
  get rssBytes(): number {
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(`${this.#process.pid}/status`))?.[1];
    if (kibibytes === undefined) throw new Error('the server has ended');
    return 1024 * Number(kibibytes);
  }

  /** What its state directory takes on the disk. */
  async diskBytes(): Promise<number> {
    const { stdout } = await promisify(execFile)('du', ['-s', '-B1', join(this.#directory, 'state')]);
    return Number.parseInt(stdout, 10);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Seconds of processor time that it has used. */
  get cpuSeconds(): number {
    const stat = readProc(`${this.#process.pid}/stat`);
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number);
    return ((user ?? 0) + (system ?? 0)) / 100;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await exit;
    await rm(this.#directory, { recursive: true, force: true });
  }
}
