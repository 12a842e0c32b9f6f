import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { INBOX } from '../../../src/adapters/sandbox/upload-path.ts';
import { parseSandboxId } from '../../../src/kernel/ids.ts';
import type { Sandbox, SandboxExit, SandboxProvider } from '../../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxLimits } from '../../../src/pool/ports/template.ts';
import { startRootCommand, type RunningCommand } from '../root-command.ts';
import type { RealDaemons } from './real-daemons.ts';
import { RpcRefusal } from './wire.ts';

/** What every simulated machine is made of. */
export interface MachineContext {
  readonly provider: SandboxProvider;
  readonly directory: string;
  /** What the E2B template has baked in. */
  readonly baked: readonly Mount[];
  readonly limits: SandboxLimits;
  /** What answers in it, in place of the simulator. */
  readonly daemons?: RealDaemons | undefined;
}

export interface Listener {
  hear(output: 'stdout' | 'stderr', bytes: Buffer): Promise<void>;
  /** The connection breaks. */
  cut(): void;
}

export interface MachineProcess {
  readonly pid: number;
  readonly config: ProcessConfig;
  readonly sandbox: RunningCommand;
  /** Where its files come in; root's commands see the sandbox's own. */
  readonly inbox: Pick<Sandbox, 'upload'> | undefined;
  isInputClosed: boolean;
  /** Takes what is printed; without a reader it is thrown away. */
  listener: Listener | undefined;
  /** Resolves when all has been printed and it has ended. */
  readonly ended: Promise<SandboxExit>;
}

export interface ProcessConfig {
  readonly cmd: string;
  readonly args?: readonly string[] | undefined;
  readonly envs?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly isRoot?: boolean;
}

const NEVER = new AbortController().signal;
const FIRST_PID = 400;
/** E2B's daemon says that a command has ended when all that it left behind has: beside this shell and the sandbox's first process nothing runs. */
const LINGER = '"$@"; code=$?; while set -- /proc/[0-9]*; [ $# -gt 2 ]; do sleep 0.02; done; exit $code';

/** One sandbox of the simulator: each of its commands is a real local sandbox, and they share a directory of files. */
export class SimulatedMachine {
  readonly id: string;
  readonly processes = new Map<number, MachineProcess>();
  readonly #context: MachineContext;
  readonly #files: string;
  readonly #hasNetwork: boolean;
  #isOver = false;
  #started = 0;
  #pids = FIRST_PID;

  constructor(id: string, context: MachineContext, hasNetwork = false) {
    this.#hasNetwork = hasNetwork;
    this.id = id;
    this.#context = context;
    this.#files = path.join(context.directory, id);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async start(config: ProcessConfig): Promise<MachineProcess> {
    if (config.isRoot === true) return this.#began(config, await this.#unlessOver(this.#startAsRoot(config)), undefined);
    const sandbox = await this.#unlessOver(this.#startProgram(config));
    return this.#began(config, sandbox, sandbox);
  }

  /** What began while the sandbox ended is not among what was ended with it. */
  async #unlessOver<Begun extends RunningCommand>(beginning: Promise<Begun>): Promise<Begun> {
    const begun = await beginning;
    if (!this.#isOver) return begun;
    await begun.destroy();
    throw new RpcRefusal('unavailable', 'the sandbox is gone');
  }

  async #startAsRoot({ cmd, args = [], envs = {} }: ProcessConfig): Promise<RunningCommand> {
    const files = this.#hostPath('/muster');
    await mkdir(files, { recursive: true });
    const { baked } = this.#context;
    const walls = { hasNetwork: this.#hasNetwork, isPrivileged: process.getuid?.() === 0 };
    return startRootCommand({ command: [cmd, ...args], environment: envs, files, target: '/muster', baked, ...walls });
  }

  async #startProgram(config: ProcessConfig): Promise<Sandbox> {
    const number = (this.#started += 1);
    const { provider, limits } = this.#context;
    const mounts = [...this.#context.baked, ...(await this.#uploadedDirectories())];
    const command = ['/bin/bash', '-c', LINGER, '--', config.cmd, ...(config.args ?? [])];
    const template = { name: 'e2b', command, environment: config.envs ?? {}, mounts, network: 'none', limits, demands: [] } as const;
    return await provider.create({ id: parseSandboxId(`${this.id}-${number}`), template }, NEVER);
  }

  #began(config: ProcessConfig, sandbox: RunningCommand, inbox: Sandbox | undefined): MachineProcess {
    const heard = Promise.withResolvers<SandboxExit>();
    const started: MachineProcess = {
      pid: (this.#pids += 1),
      config,
      sandbox,
      inbox,
      isInputClosed: false,
      listener: undefined,
      ended: heard.promise,
    };
    heard.resolve(listen(started));
    this.processes.set(started.pid, started);
    void sandbox.exit.then(() => this.processes.delete(started.pid));
    return started;
  }

  process(pid: number): MachineProcess {
    const found = this.processes.get(pid);
    if (!found) throw new RpcRefusal('not_found', `process with pid ${pid} not found`);
    return found;
  }

  async write(inside: string, content: Readable): Promise<void> {
    const target = this.#hostPath(inside);
    await mkdir(path.dirname(target), { recursive: true });
    await pipeline(content, createWriteStream(target));
  }

  /** What comes into the inbox is seen by the programs that run. */
  async move(source: string, destination: string): Promise<void> {
    const target = this.#hostPath(destination);
    await mkdir(path.dirname(target), { recursive: true });
    try {
      await rename(this.#hostPath(source), target);
    } catch {
      throw new RpcRefusal('not_found', `source file not found: rename ${source} ${destination}: no such file or directory`);
    }
    const relative = path.posix.relative(INBOX, destination);
    if (relative.startsWith('..')) return;
    for (const file of await filesAt(target)) await this.#show(path.posix.join(relative, file), path.join(target, file));
  }

  async #show(relative: string, hostPath: string): Promise<void> {
    for (const { inbox } of this.processes.values()) await inbox?.upload(relative, { kind: 'file', hostPath }, NEVER);
  }

  /** Every connection to it breaks, and its programs stay as they are. */
  disconnect(): void {
    for (const { listener } of this.processes.values()) listener?.cut();
  }

  /** All of it ends at once. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#context.daemons?.end(this.id);
    await Promise.all([...this.processes.values()].map(({ sandbox }) => sandbox.destroy()));
    await rm(this.#files, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Directories such as /muster/runner that were written before the program began. */
  async #uploadedDirectories(): Promise<readonly Mount[]> {
    const names = await readdir(this.#hostPath('/muster')).catch(() => []);
    const others = new Set(['/muster/inbox', '/muster/incomplete', ...this.#context.baked.map(({ target }) => target)]);
    const directories = names.map((name) => `/muster/${name}`).filter((directory) => !others.has(directory));
    return directories.map((target) => ({ source: this.#hostPath(target), target }));
  }

  #hostPath(inside: string): string {
    return path.join(this.#files, path.posix.normalize(`/${inside}`));
  }
}

/** Of a file, itself; of a directory, all that are in it. Relative. */
async function filesAt(target: string): Promise<readonly string[]> {
  if (!(await stat(target)).isDirectory()) return [''];
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.relative(target, path.join(parentPath, name)));
}

/** From the first reader on, also after it is gone. */
async function listen(started: MachineProcess): Promise<SandboxExit> {
  const { sandbox } = started;
  const pump = async (output: Readable, name: 'stdout' | 'stderr'): Promise<void> => {
    for await (const chunk of output.iterator({ destroyOnReturn: false })) await started.listener?.hear(name, Buffer.from(chunk));
  };
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([pump(sandbox.stdout, 'stdout'), pump(sandbox.stderr, 'stderr')]);
  return sandbox.exit;
}
