import path from 'node:path';
import { type Clock, sleep } from '../../../../kernel/clock.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import type { SandboxUsage } from '../../../../kernel/sandbox-usage.ts';
import type { SandboxLimits } from '../../../../pool/ports/template.ts';
import type { CgroupAccounts } from './cgroup-accounts.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import type { CgroupLayout, CgroupLimit } from './cgroup-layout.ts';
import { hasErrno } from '../../../../kernel/errno.ts';
import { killProcess } from '../host/process-table.ts';

/** The period of the processor quota in microseconds: the kernel's default. */
const CPU_PERIOD_US = 100_000;
/** The smallest quota that the kernel accepts. */
const CPU_QUOTA_MIN_US = 1_000;

/** The time in which the kernel must empty a group after its processes were killed. */
const REMOVAL_DEADLINE_MS = 10_000;
/** The first pause between two attempts, and the longest, up to which it doubles. Most processes are gone within a millisecond. */
const REMOVAL_PAUSE_MS = [1, 64] as const;

/** The location of a sandbox's control group. */
export interface CgroupDirectories {
  readonly version: CgroupLayout['version'];
  readonly directories: readonly string[];
  /** The directory in which a limit is set. */
  readonly of: ReadonlyMap<CgroupLimit, string>;
}

/** The control group of one sandbox: one directory in v2, one for each limit in v1. */
export class SandboxCgroup {
  readonly #files: CgroupFiles;
  readonly #group: CgroupDirectories;
  readonly #accounts: CgroupAccounts;

  constructor(files: CgroupFiles, group: CgroupDirectories, accounts: CgroupAccounts) {
    this.#files = files;
    this.#group = group;
    this.#accounts = accounts;
  }

  /** The files into which a process writes its id to join the group. Processes that it starts later are in the group, too. */
  get memberFiles(): readonly string[] {
    return this.#group.directories.map((directory) => path.join(directory, 'cgroup.procs'));
  }

  /** Makes the group and sets its limits, which apply to all of its processes together. */
  async make(limits: SandboxLimits): Promise<void> {
    await awaitAll(this.#group.directories.map((directory) => this.#files.makeDirectory(directory)));
    await awaitAll(listLimitSettings(this.#group.version, limits).map((each) => this.#set(each)));
  }

  /** Writes the files one after the other, because the limit of memory alone cannot exceed that of memory and swap together. */
  async #set({ limit, files }: LimitSetting): Promise<void> {
    const directory = this.#group.of.get(limit);
    if (directory === undefined) return;
    for (const { file, value, optional } of files) {
      const target = path.join(directory, file);
      if (!(await this.#files.write(target, value)) && optional !== true) {
        throw new InfrastructureError('sandbox.cgroup', `${target}: the control file is missing`);
      }
    }
  }

  /** Counts the processes that the memory limit has killed. */
  async countMemoryKills(): Promise<number> {
    const { of, version } = this.#group;
    const directory = of.get('memory');
    if (directory === undefined) return 0;
    const file = version === 'cgroup-v2' ? 'memory.events' : 'memory.oom_control';
    const count = /^oom_kill (\d+)$/m.exec((await this.#files.read(path.join(directory, file))) ?? '')?.[1];
    return Number(count ?? 0);
  }

  /** Returns the kernel's counts so far. */
  usage(): Promise<SandboxUsage> {
    return this.#accounts.measureUsage(this.#group.directories);
  }

  async kill(): Promise<void> {
    await Promise.all(this.#group.directories.map((directory) => killMembers(this.#files, directory)));
  }

  /** Kills the remaining processes, and removes the group. @throws InfrastructureError when that takes longer than ten seconds. */
  async remove(clock: Clock): Promise<void> {
    // In v1 its processes are in all of these directories. When they have left the first, the others can usually be removed at once.
    const [first, ...others] = this.#group.directories;
    if (first === undefined) return;
    const removed = removeGroup(this.#files, first, clock);
    const ended = removed.catch(() => undefined);
    await awaitAll([removed, ...others.map((directory) => ended.then(() => removeGroup(this.#files, directory, clock)))]);
  }
}

/** The files and values to write for a limit, in this order. */
export interface LimitSetting {
  readonly limit: CgroupLimit;
  readonly files: readonly LimitFile[];
}

export interface LimitFile {
  readonly file: string;
  readonly value: string;
  /** Whether some kernels lack the file. */
  readonly optional?: true;
}

/** Lists the settings of the limits. Swap cannot exceed the memory limit: v1 limits memory and swap together, v2 allows no swap. */
export function listLimitSettings(version: CgroupLayout['version'], limits: SandboxLimits): readonly LimitSetting[] {
  const memory = String(limits.memoryBytes);
  const processes: LimitSetting = { limit: 'processes', files: [{ file: 'pids.max', value: String(limits.processes) }] };
  const quota = Math.max(CPU_QUOTA_MIN_US, Math.round(limits.cpus * CPU_PERIOD_US));
  switch (version) {
    case 'cgroup-v1': {
      const both = { file: 'memory.memsw.limit_in_bytes', value: memory, optional: true } as const;
      const cpu = { file: 'cpu.cfs_quota_us', value: String(quota) };
      return [
        { limit: 'memory', files: [{ file: 'memory.limit_in_bytes', value: memory }, both] },
        processes,
        { limit: 'cpu', files: [cpu] },
      ];
    }
    case 'cgroup-v2': {
      const swap = { file: 'memory.swap.max', value: '0', optional: true } as const;
      const cpu = { file: 'cpu.max', value: `${quota} ${CPU_PERIOD_US}` };
      return [{ limit: 'memory', files: [{ file: 'memory.max', value: memory }, swap] }, processes, { limit: 'cpu', files: [cpu] }];
    }
  }
}

/** Does the same as Promise.all, but rejects only when all promises have settled. */
async function awaitAll(works: readonly Promise<void>[]): Promise<void> {
  const failure = (await Promise.allSettled(works)).find((end) => end.status === 'rejected');
  if (failure) throw failure.reason;
}

async function killMembers(files: CgroupFiles, directory: string): Promise<void> {
  if (await files.write(path.join(directory, 'cgroup.kill'), '1')) return;
  const members = (await files.read(path.join(directory, 'cgroup.procs'))) ?? '';
  // 0 is a process of another pid namespace, which has no id here.
  for (const pid of members.split('\n').map(Number)) if (pid > 0) killProcess(pid);
}

/** Kills and removes one group. A missing group counts as removed. */
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
    // Usually all of its processes are already ending, and are no longer listed.
    if ((await files.read(path.join(directory, 'cgroup.procs'))) !== '') await killMembers(files, directory);
    await sleep(clock, pause);
  }
}
