import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { probeGvisor } from '../../src/adapters/sandbox/gvisor/capabilities.ts';
import { nameContainer, getStateDirectory } from '../../src/adapters/sandbox/gvisor/command-line.ts';
import { createGvisorProvider } from '../../src/adapters/sandbox/gvisor/gvisor-provider.ts';
import { killProcess } from '../../src/adapters/sandbox/local/host/process-table.ts';
import { listChildren, listProcesses } from './process-table.ts';
import { parseSandboxId, type SandboxId } from '../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Mount } from '../../src/pool/ports/template.ts';
import type { SandboxContext } from '../contract/sandbox-provider.ts';
import { BubblewrapContext } from './bubblewrap-context.ts';
import type { SkippableClock } from './skippable-clock.ts';
import { listDirectoryNames } from '../../src/adapters/files/path-contents.ts';

const run = promisify(execFile);

/** Whether this machine has gVisor, found once for a test file. */
export const gvisorHere = await probeGvisor({ runscPath: 'runsc', cgroups: 'detect' });

/** The context of local sandboxes, on which those of gVisor stand as well. */
export class GvisorContext implements SandboxContext {
  readonly local: BubblewrapContext;
  readonly clock: SkippableClock;
  readonly hiddenPaths: readonly string[];
  readonly #cgroups: 'detect' | 'none';

  private constructor(local: BubblewrapContext, cgroups: 'detect' | 'none') {
    this.local = local;
    this.clock = local.clock;
    // Where the host has its own, gVisor has an empty directory: see the adapter's tests.
    this.hiddenPaths = local.hiddenPaths.filter((place) => place !== '/sys');
    this.#cgroups = cgroups;
  }

  static async open(mounts: readonly Mount[], cgroups: 'detect' | 'none' = 'detect'): Promise<GvisorContext> {
    return new GvisorContext(await BubblewrapContext.open(mounts, { cgroups }), cgroups);
  }

  provider(): SandboxProvider {
    const { stateDir, clock } = this.local;
    return createGvisorProvider({ stateDir, owner: this.local.newOwner(), clock, cgroups: this.#cgroups });
  }

  traces(): Promise<readonly string[]> {
    return this.local.traces();
  }

  async killFromOutside(provider: SandboxProvider, id: SandboxId): Promise<void> {
    const bundle = `--bundle=${path.join(this.local.stateDir, 'sandboxes', provider.owner, id)}`;
    const ours = listChildren(process.pid);
    for (const { pid, argv } of listProcesses()) if (ours.includes(pid) && argv.includes(bundle)) killProcess(pid);
  }

  /** gVisor's own clocks go on while the host withholds the processor from it. */
  async processorSeconds(provider: SandboxProvider, id: SandboxId): Promise<number> {
    const base = gvisorHere.layout?.bases.get('cpu');
    if (base === undefined) throw new Error('no control group counts processor time');
    const members = await readFile(path.join(base, provider.owner, id, 'cgroup.procs'), 'utf8');
    const stats = await Promise.all(
      members
        .split('\n')
        .filter(Boolean)
        .map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
    );
    return stats.reduce((sum, stat) => sum + ticksOf(stat), 0) / TICKS_PER_SECOND;
  }

  async crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    const { child, created } = await this.local.startOwner(commands, { provider: 'gvisor' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    return created.map(({ id }) => parseSandboxId(id));
  }

  /** The host sees gVisor's processes and not the program's: those are asked for inside of every sandbox that there is. */
  async markedProcesses(marker: string): Promise<readonly string[]> {
    const found: string[] = [];
    const owners = path.join(this.local.stateDir, 'sandboxes');
    for (const owner of await listDirectoryNames(owners)) {
      for (const id of await listDirectoryNames(path.join(owners, owner))) {
        if (!id.startsWith('_')) found.push(...(await markedIn(path.join(owners, owner, id), marker)));
      }
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.local[Symbol.asyncDispose]();
  }
}

/** USER_HZ, the same on every Linux of today. */
const TICKS_PER_SECOND = 100;

/** Of the process and of its children that have ended: utime, stime, cutime and cstime of proc_pid_stat(5). */
function ticksOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

/** Names the processes whose first word is `sh` and of which another is the marker. */
const FIND = `for p in /proc/[0-9]*; do
  tr '\\0' '\\n' <"$p/cmdline" 2>/dev/null | { read -r first; [ "$first" = sh ] && grep -qxF "$1" && echo "$p"; }
done; true`;

async function markedIn(directory: string, marker: string): Promise<readonly string[]> {
  const rootless = process.getuid?.() === 0 ? [] : ['--rootless'];
  const runsc = [`--root=${getStateDirectory(directory)}`, ...rootless, 'exec', '--user=0:0', nameContainer(directory)];
  try {
    const { stdout } = await run('runsc', [...runsc, '/bin/sh', '-c', FIND, 'find', marker]);
    return stdout.split('\n').filter((line) => line !== '');
  } catch (error) {
    // A sandbox that has ended, or ends meanwhile, has no processes.
    const isGone =
      error instanceof Error && /loading (container|sandbox)|not running|stopped|does not exist|EOF|refused/i.test(error.message);
    if (isGone) return [];
    throw error;
  }
}
