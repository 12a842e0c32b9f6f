import path from 'node:path';
import { type Clock, sleep } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxUsage } from '../../../pool/sandbox.ts';
import type { SandboxLimits } from '../../../pool/template.ts';
import type { CgroupAccounts } from './cgroup-accounts.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import type { CgroupLayout } from './cgroup-layout.ts';
import { hasErrno } from './errno.ts';
import { killProcess } from './process-table.ts';

/** Length of the window over which processor time is shared out, in microseconds: the kernel's default. */
const CPU_PERIOD_US = 100_000;
/** Shortest share of a period that the kernel takes. */
const CPU_QUOTA_MIN_US = 1_000;

/** How long the kernel may take to empty a group after its processes were killed, before that counts as a failure. */
const REMOVAL_DEADLINE_MS = 10_000;
/** First pause between two attempts, doubled up to the second: processes are mostly gone within a millisecond. */
const REMOVAL_PAUSE_MS = [1, 64] as const;

/** The control group of one sandbox: one directory in v2, one for each limit in v1. */
export class SandboxCgroup {
  readonly #files: CgroupFiles;
  readonly #directories: readonly string[];
  readonly #accounts: CgroupAccounts;

  constructor(files: CgroupFiles, directories: readonly string[], accounts: CgroupAccounts) {
    this.#files = files;
    this.#directories = directories;
    this.#accounts = accounts;
  }

  /** A process that writes its id into each of these is in the group, with all that it starts from then on. */
  get memberFiles(): readonly string[] {
    return this.#directories.map((directory) => path.join(directory, 'cgroup.procs'));
  }

  async setLimits(layout: CgroupLayout, limits: SandboxLimits): Promise<void> {
    for (const { file, value, optional } of settings(layout, limits)) {
      for (const directory of this.#directories) {
        const target = path.join(directory, file);
        const written = (await this.#files.read(target)) !== undefined && (await this.#files.write(target, value));
        if (written) break;
        if (directory === this.#directories.at(-1) && !optional) {
          throw new InfrastructureError('sandbox.cgroup', `${target}: the control file is missing`);
        }
      }
    }
  }

  /** How many processes the memory limit has ended. */
  async memoryKills(): Promise<number> {
    for (const directory of this.#directories) {
      for (const file of ['memory.events', 'memory.oom_control']) {
        const count = /^oom_kill (\d+)$/m.exec((await this.#files.read(path.join(directory, file))) ?? '')?.[1];
        if (count !== undefined) return Number(count);
      }
    }
    return 0;
  }

  /** What the kernel has counted so far. */
  usage(): Promise<SandboxUsage> {
    return this.#accounts.usage(this.#directories);
  }

  async kill(): Promise<void> {
    for (const directory of this.#directories) await killMembers(this.#files, directory);
  }

  /** Kills what is left in it and removes it. @throws InfrastructureError when that takes longer than ten seconds. */
  async remove(clock: Clock): Promise<void> {
    for (const directory of this.#directories) await removeGroup(this.#files, directory, clock);
  }
}

interface Setting {
  readonly file: string;
  readonly value: string;
  /** Not every kernel has it: swap accounting. */
  readonly optional?: true;
}

/** Swap is closed as a way around the memory limit: memory and swap together in v1, no swap at all in v2. */
function settings({ version, bases }: CgroupLayout, limits: SandboxLimits): readonly Setting[] {
  const memory = String(limits.memoryBytes);
  const processes = String(limits.processes);
  const quota = Math.max(CPU_QUOTA_MIN_US, Math.round(limits.cpus * CPU_PERIOD_US));
  const all: Record<CgroupLayout['version'], readonly (readonly ['memory' | 'processes' | 'cpu', Setting])[]> = {
    'cgroup-v1': [
      ['memory', { file: 'memory.limit_in_bytes', value: memory }],
      ['memory', { file: 'memory.memsw.limit_in_bytes', value: memory, optional: true }],
      ['processes', { file: 'pids.max', value: processes }],
      ['cpu', { file: 'cpu.cfs_quota_us', value: String(quota) }],
    ],
    'cgroup-v2': [
      ['memory', { file: 'memory.max', value: memory }],
      ['memory', { file: 'memory.swap.max', value: '0', optional: true }],
      ['processes', { file: 'pids.max', value: processes }],
      ['cpu', { file: 'cpu.max', value: `${quota} ${CPU_PERIOD_US}` }],
    ],
  };
  return all[version].filter(([limit]) => bases.has(limit)).map(([, setting]) => setting);
}

async function killMembers(files: CgroupFiles, directory: string): Promise<void> {
  if (await files.write(path.join(directory, 'cgroup.kill'), '1')) return;
  const members = (await files.read(path.join(directory, 'cgroup.procs'))) ?? '';
  // 0 stands for a process of another pid namespace, which cannot be named from here.
  for (const pid of members.split('\n').map(Number)) if (pid > 0) killProcess(pid);
}

/** Kills and removes one group. A group that is gone is what was wanted. */
export async function removeGroup(files: CgroupFiles, directory: string, clock: Clock): Promise<void> {
  const deadline = clock.now() + REMOVAL_DEADLINE_MS;
  const [firstPause, longestPause] = REMOVAL_PAUSE_MS;
  for (let pause: number = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      await files.removeDirectory(directory);
      return;
    } catch (error) {
      if (hasErrno(error, 'ENOENT')) return;
      if (!hasErrno(error, 'EBUSY')) throw error;
      if (clock.now() >= deadline) {
        const detail = `${directory}: still in use ${REMOVAL_DEADLINE_MS / 1000} s after its processes were killed`;
        throw new InfrastructureError('sandbox.cgroup', detail, { cause: error });
      }
    }
    await killMembers(files, directory);
    await sleep(clock, pause);
  }
}
