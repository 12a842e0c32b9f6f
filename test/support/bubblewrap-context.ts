import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { createBubblewrapProvider } from '../../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { detectHere } from '../../src/adapters/sandbox/local/cgroups/cgroups-here.ts';
import { kernelCgroupFiles } from '../../src/adapters/sandbox/local/cgroups/cgroup-files.ts';
import { killProcess } from '../../src/adapters/sandbox/local/host/process-table.ts';
import { listChildren, listProcesses, readProcessFile } from './process-table.ts';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Mount, PolicyProgram, SandboxTemplate, Zygote } from '../../src/pool/ports/template.ts';
import type { SandboxContext } from '../contract/sandbox-provider.ts';
import { SkippableClock } from './skippable-clock.ts';

const CRASHING_OWNER = path.join(import.meta.dirname, 'crashing-owner.ts');

/** Node marks the inherited descriptors that it finds at its start close-on-exec, and looks no further than the first gap after 15. */
export const UNMARKED_DESCRIPTOR = 40;

export interface ContextOptions {
  readonly cgroups?: 'detect' | 'none';
  /** What a crashed owner's sandboxes are forked from. */
  readonly zygote?: Zygote | undefined;
  /** The second program of every sandbox. */
  readonly policy?: PolicyProgram | undefined;
}

/** A state directory and owners that are unique to one test, on this machine. */
export class BubblewrapContext implements SandboxContext {
  readonly clock = new SkippableClock();
  readonly stateDir: string;
  readonly hiddenPaths: readonly string[];
  readonly additions: Partial<SandboxTemplate>;
  readonly #cgroups: 'detect' | 'none';
  readonly #mounts: readonly Mount[];
  readonly #zygote: Zygote | undefined;
  readonly #owners: OwnerId[] = [];
  readonly #children: ChildProcess[] = [];

  private constructor(stateDir: string, mounts: readonly Mount[], { cgroups = 'detect', zygote, policy }: ContextOptions) {
    this.stateDir = stateDir;
    this.additions = policy ? { policy } : {};
    this.#zygote = zygote;
    this.#mounts = mounts;
    this.#cgroups = cgroups;
    const places = [
      stateDir,
      path.join(import.meta.dirname, '../..'),
      homedir(),
      '/home',
      '/opt',
      '/sys',
      '/etc/hostname',
      '/etc/resolv.conf',
    ];
    this.hiddenPaths = places.filter((place) => !mounts.some(({ target }) => target.startsWith(place)));
  }

  static async open(mounts: readonly Mount[], options: ContextOptions = {}): Promise<BubblewrapContext> {
    return new BubblewrapContext(await mkdtemp(path.join(tmpdir(), 'muster-test-')), mounts, options);
  }

  newOwner(): OwnerId {
    const owner = parseOwnerId(`${path.basename(this.stateDir).toLowerCase()}-${this.#owners.length}`);
    this.#owners.push(owner);
    return owner;
  }

  provider(): SandboxProvider {
    const { stateDir, clock } = this;
    return createBubblewrapProvider({ stateDir, owner: this.newOwner(), clock, cgroups: this.#cgroups });
  }

  /** Directories of sandboxes, their control groups, and processes that name the state directory, but for zygotes, which outlive their sandboxes. */
  async traces(): Promise<readonly string[]> {
    const places = [path.join(this.stateDir, 'sandboxes')];
    const { layout } = await detectHere(kernelCgroupFiles);
    places.push(...new Set(layout?.bases.values()));
    const found: string[] = [];
    for (const owner of this.#owners) for (const place of places) found.push(...(await sandboxesIn(path.join(place, owner))));
    const processes = listProcesses();
    return [
      ...found,
      ...processes
        .filter(({ argv }) => argv.some((word) => word.replace(/^--root=/, '').startsWith(this.stateDir)) && !isZygote(argv))
        .map(({ pid }) => `process ${pid}`),
    ];
  }

  async killFromOutside(provider: SandboxProvider, id: SandboxId): Promise<void> {
    const inbox = path.join(this.stateDir, 'sandboxes', provider.owner, id, 'inbox');
    const ours = listChildren(process.pid);
    for (const { pid, argv } of listProcesses()) {
      if (ours.includes(pid) && argv.includes(inbox)) killProcess(pid);
      else if (isFirstOf(pid, inbox)) killProcess(pid);
    }
  }

  async crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    const { child, created } = await this.startOwner(commands);
    child.kill('SIGKILL');
    await once(child, 'exit');
    return created.map(({ id }) => parseSandboxId(id));
  }

  /** A Muster in a process of its own, once its sandboxes run. @param start what makes them; the user to run it as; a file descriptor for it to inherit as UNMARKED_DESCRIPTOR. */
  async startOwner(
    commands: readonly (readonly string[])[],
    start: { readonly provider?: 'bubblewrap' | 'gvisor'; readonly uid?: number; readonly gid?: number; readonly inherited?: number } = {},
  ): Promise<{ readonly child: ChildProcess; readonly lines: AsyncIterator<string>; readonly created: z.infer<typeof createdSchema> }> {
    const { provider = 'bubblewrap', inherited = 'ignore', ...identity } = start;
    const order = {
      provider,
      stateDir: this.stateDir,
      owner: this.newOwner(),
      commands,
      mounts: this.#mounts,
      cgroups: this.#cgroups,
      processes: 16,
      zygote: this.#zygote,
      ...this.additions,
    };
    const stdio: StdioOptions = ['pipe', 'pipe', 'inherit', ...Array<'ignore'>(UNMARKED_DESCRIPTOR - 3).fill('ignore'), inherited];
    const child = spawn(process.execPath, [CRASHING_OWNER, JSON.stringify(order)], { stdio, ...identity });
    this.#children.push(child);
    if (!child.stdout) throw new Error('the other Muster has no stdout');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      if (line.value.startsWith('[{')) return { child, lines, created: createdSchema.parse(JSON.parse(line.value)) };
    }
    throw new Error('the other Muster ended before its sandboxes ran');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    const left = await readdir(path.join(this.stateDir, 'sandboxes')).catch(() => []);
    await rm(this.stateDir, { recursive: true });
    if (left.length > 0) throw new Error(`owner directories were left behind: ${left.join(', ')}`);
  }
}

const isZygote = (argv: readonly string[]): boolean => argv.some((word) => word.endsWith('/zygote.py'));

/** Whether the process is the first one of the forked sandbox with this inbox. */
function isFirstOf(pid: number, inbox: string): boolean {
  const mounts = readProcessFile(pid, 'mountinfo');
  if (!mounts.split('\n').some((line) => line.includes(`${inbox} /muster/inbox `))) return false;
  const status = readProcessFile(pid, 'status');
  return /^NSpid:\t.*\t1$/m.test(status);
}

const createdSchema = z.array(
  z.object({ id: z.string(), isolation: z.object({ limits: z.record(z.string(), z.object({ scope: z.string(), by: z.string() })) }) }),
);

async function sandboxesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('_')).map(({ name }) => path.join(directory, name));
}
