import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { createBubblewrapProvider } from '../../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { detectHere } from '../../src/adapters/sandbox/local/cgroups/cgroups-here.ts';
import { kernelCgroupFiles } from '../../src/adapters/sandbox/local/cgroups/cgroup-files.ts';
import { listProcesses, readProcessFile } from '../support/process-table.ts';
import { loadConfig } from '../../src/app/configuration.ts';
import { openEvaluationStore } from '../../src/app/stores.ts';
import type { Role } from '../../src/evaluation-store/tokens.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import { createSeedStreams } from '../../src/kernel/seeds.ts';
import { TokenService } from '../../src/service/access/token-service.ts';
import { eventually } from '../support/eventually.ts';
import { runnersInside } from './inside.ts';
import { MusterCommand, runInProcess, type MusterCommandOptions, type MusterResult } from './muster-command.ts';

export const REPOSITORY = path.join(import.meta.dirname, '../..');
export const CARTPOLE = path.join(REPOSITORY, 'examples/game/cartpole.yaml');
export const LATE = path.join(REPOSITORY, 'examples/game/checkpoints/late.safetensors');
/** Lets callers of a server name the checkpoints of the examples. */
export const SOURCES = { roots: [path.join(REPOSITORY, 'examples')] };
/** A policy that fits any environment. */
export const ANYTHING = path.join(import.meta.dirname, 'checkpoints/anything');
const SUITES = path.join(import.meta.dirname, 'suites');
/** Base seed of suites/faults.yaml. */
const BASE_SEED = 7;

export interface FaultSuite {
  /** As environments/faults.py names it. */
  readonly how?: string;
  /** Indices of the episodes that go wrong. */
  readonly episodes?: readonly number[];
  /** Over suites/faults.yaml. */
  readonly changes?: object;
}

/**
 * A directory for one test, with a state directory of its own in it, and every `./muster` that the test runs. Closing it fails
 * when anything of a sandbox is left: a process, a control group, a directory.
 */
export class Stage implements AsyncDisposable {
  readonly directory: string;
  readonly stateDir: string;
  readonly gates: string;
  readonly #commands: MusterCommand[] = [];

  private constructor(directory: string) {
    this.directory = directory;
    this.stateDir = path.join(directory, 'state');
    this.gates = path.join(directory, 'gates');
  }

  static async open(): Promise<Stage> {
    return new Stage(await mkdtemp(path.join(tmpdir(), 'muster-e2e-')));
  }

  path(name: string): string {
    return path.join(this.directory, name);
  }

  async write(name: string, content: string | Uint8Array | object): Promise<string> {
    const file = this.path(name);
    const isText = typeof content === 'string' || content instanceof Uint8Array;
    await writeFile(file, isText ? content : JSON.stringify(content));
    return file;
  }

  /** A suite of environments/faults.py. */
  async faultSuite({ how = 'not at all', episodes = [], changes = {} }: FaultSuite = {}): Promise<string> {
    const base: unknown = parse(await readFile(path.join(SUITES, 'faults.yaml'), 'utf8'));
    const environment = { entry: 'faults:Faulty', kwargs: { how, seeds: episodes.map(seedOf) } };
    return this.write('suite.yaml', { ...Object(base), files: path.join(SUITES, 'environments'), environment, ...changes });
  }

  /** Environments stop at the named gates (suites/environments/gates.py) until they are opened. */
  async closeGates(...names: readonly string[]): Promise<void> {
    await mkdir(this.gates, { recursive: true });
    for (const name of names) await writeFile(path.join(this.gates, name), '');
  }

  async openGates(...names: readonly string[]): Promise<void> {
    for (const name of names) await rm(path.join(this.gates, name));
  }

  /** How many runners stand at the closed gate. */
  async countAt(gate: string): Promise<number> {
    const runners = runnersInside(this.stateDir);
    const are = await Promise.all(runners.map(async (runner) => runner.isAt(gate)));
    return are.filter(Boolean).length;
  }

  /** A configuration whose sandboxes see the gates. */
  async config({ template = {}, ...changes }: { pool?: object; evaluation?: object; template?: object } = {}): Promise<string> {
    await this.closeGates();
    const local = { mounts: [{ source: this.gates, target: '/gates' }], ...template };
    return this.write('muster.json', { stateDir: this.stateDir, templates: { local }, ...changes });
  }

  /** A configuration of a server that knows the suite by the name "gated", and whose sandboxes see the gates. */
  async gatedServer(suite: string, { server = {}, ...changes }: { server?: object; pool?: object; store?: object } = {}): Promise<string> {
    await this.closeGates();
    const templates = { local: { mounts: [{ source: this.gates, target: '/gates' }] } };
    const sources = { roots: [path.dirname(ANYTHING)] };
    return this.write('gated.json', { sources, templates, server: { port: 0, suites: { gated: suite }, ...server }, ...changes });
  }

  /** Makes a token as `./muster token create` does, which takes a process of its own. */
  async token(principal: string, role: Role): Promise<string> {
    const config = loadConfig({ environment: { HOME: this.directory, MUSTER_STATE_DIR: this.stateDir } });
    await using store = await openEvaluationStore(config, systemClock);
    return (await new TokenService(store, systemClock, 'test').issue({ principal, role, lifetimeMs: undefined })).text;
  }

  /** Runs `./muster` to its end. */
  async run(args: readonly string[], options: MusterCommandOptions = {}): Promise<MusterResult> {
    return this.start(args, options).ended;
  }

  /** As `run`, without a process of its own, which takes half a second of a processor less. */
  async call(args: readonly string[], { environment = {} }: Pick<MusterCommandOptions, 'environment'> = {}): Promise<MusterResult> {
    return runInProcess(args, { MUSTER_STATE_DIR: this.stateDir, ...environment });
  }

  start(args: readonly string[], options: MusterCommandOptions = {}): MusterCommand {
    const environment = { MUSTER_STATE_DIR: this.stateDir, ...options.environment };
    const command = new MusterCommand([path.join(REPOSITORY, 'muster'), ...args], { ...options, environment });
    this.#commands.push(command);
    return command;
  }

  /** What is left of sandboxes: processes, control groups, directories. */
  async traces(): Promise<readonly string[]> {
    const owners = [process.pid, ...this.#commands.map(({ pid }) => pid)].map((pid) => `muster-${pid}-`);
    const isOurs = (name: string): boolean => owners.some((owner) => name.startsWith(owner));
    const { layout } = await detectHere(kernelCgroupFiles);
    const groups = await Promise.all([...new Set(layout?.bases.values())].map(async (base) => under(base, await namesIn(base), isOurs)));
    const sandboxes = path.join(this.stateDir, 'sandboxes');
    return [...this.sandboxProcesses(), ...groups.flat(), ...under(sandboxes, await namesIn(sandboxes), () => true)];
  }

  /** Directories of sandboxes that there are now, whole or not. */
  async countSandboxes(): Promise<number> {
    const sandboxes = path.join(this.stateDir, 'sandboxes');
    const owners = await namesIn(sandboxes);
    const names = await Promise.all(owners.map(async (owner) => namesIn(path.join(sandboxes, owner))));
    return names.flat().filter((name) => /^s\d+$/.test(name)).length;
  }

  /** bubblewrap's processes, which the sandboxes' own cannot outlive, and sandboxes' own where control groups tell whose they are. */
  sandboxProcesses(): readonly string[] {
    const owners = this.#commands.map(({ pid }) => `/muster/muster-${pid}-`);
    return listProcesses().flatMap(({ pid, argv }) => {
      const isBubblewrap = argv.includes('--die-with-parent') && argv.some((word) => word.startsWith(this.stateDir));
      const groups = isBubblewrap ? '' : readProcessFile(pid, 'cgroup');
      return isBubblewrap || owners.some((owner) => groups.includes(owner)) ? [`process ${pid}: ${argv.slice(0, 3).join(' ')}`] : [];
    });
  }

  /** Fails unless every sandbox is gone, or goes within a moment. */
  async expectNothingLeft(): Promise<void> {
    let left: readonly string[] = [];
    try {
      await eventually('nothing is left of the sandboxes', async () => (left = await this.traces()).length === 0);
    } catch (error) {
      throw new Error(`left behind:\n${left.slice(0, 20).join('\n')}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#commands.filter(({ hasEnded }) => !hasEnded);
    for (const command of running) await command[Symbol.asyncDispose]();
    try {
      // A test that ends before what it has started has failed: its own error is the one to tell.
      if (running.length > 0) await this.#sweep();
      await this.expectNothingLeft();
    } catch (error) {
      await this.#sweep();
      throw error;
    } finally {
      await rm(this.directory, { recursive: true, force: true });
    }
  }

  async #sweep(): Promise<void> {
    const { stateDir } = this;
    await using provider = createBubblewrapProvider({ stateDir, owner: parseOwnerId('stage'), clock: systemClock });
    await provider.sweep(new AbortController().signal);
  }
}

/** The environment's seed in an episode of suites/faults.yaml. */
export function seedOf(index: number): number {
  return createSeedStreams(BASE_SEED).seeds(index).environment;
}

/** What an episode of it returns when it does not go wrong. */
export function returnOf(index: number): number {
  return (seedOf(index) % 100) / 100;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch(() => []);
}

function under(directory: string, names: readonly string[], isWanted: (name: string) => boolean): readonly string[] {
  return names.filter(isWanted).map((name) => path.join(directory, name));
}
