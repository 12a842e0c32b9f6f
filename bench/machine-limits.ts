import { readdirSync } from 'node:fs';
import { descendants, readProc } from './process-tree.ts';

/** Something that the machine has only so much of. */
export interface Limit {
  readonly what: string;
  readonly used: number;
  /** Undefined where there is none. */
  readonly limit: number | undefined;
}

/** What many sandboxes use up, now. */
export function limitsInReach(): readonly Limit[] {
  const ids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const threads = Number(/^\S+ \S+ \S+ \d+\/(\d+)/.exec(readProc('loadavg'))?.[1]);
  const [openFiles = 0, , openFilesMax] = readProc('sys/fs/file-nr').split('\t').map(Number);
  return [
    { what: 'process ids (kernel.pid_max)', used: threads, limit: Number(readProc('sys/kernel/pid_max')) },
    { what: 'threads (kernel.threads-max)', used: threads, limit: Number(readProc('sys/kernel/threads-max')) },
    { what: "processes of Muster's user (ulimit -u)", used: processesOfUser(ids), limit: ulimit('self', 'Max processes') },
    descriptors('self', "Muster's open files (ulimit -n)"),
    ...fullestDescendant(),
    { what: 'open files of the machine (fs.file-max)', used: openFiles, limit: openFilesMax },
    ...namespaces(),
    ...controlGroups(),
    { what: 'mounts that Muster sees (fs.mount-max)', used: lines('self/mountinfo'), limit: Number(readProc('sys/fs/mount-max')) },
  ];
}

/** @param name as /proc/PID/limits has it; the soft limit. */
function ulimit(pid: string, name: string): number | undefined {
  const value = new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(readProc(`${pid}/limits`))?.[1];
  return value === undefined ? undefined : Number(value);
}

function descriptors(pid: string, what: string): Limit {
  return { what, used: readdirSync(`/proc/${pid}/fd`).length, limit: ulimit(pid, 'Max open files') };
}

/** Of the processes below this one, the one with most open files: the warden, which has some for each sandbox. */
function fullestDescendant(): readonly Limit[] {
  const all = descendants(process.pid).map(({ pid }) => descriptors(`${pid}`, 'open files of the zygote (ulimit -n)'));
  return all.toSorted((a, b) => b.used - a.used).slice(0, 1);
}

function processesOfUser(ids: readonly string[]): number {
  const uid = `${process.getuid?.() ?? 0}`;
  return ids.filter((id) => /^Uid:\s+(\d+)/m.exec(readProc(`${id}/status`))?.[1] === uid).length;
}

/** Those that this process can see into, each kind once. */
function namespaces(): readonly Limit[] {
  const kinds = ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup'];
  // Every forked sandbox has one of each kind, for two processes at least.
  const used = Math.floor(descendants(process.pid).length / 2);
  const tightest = Math.min(...kinds.map((kind) => Number(readProc(`sys/user/max_${kind}_namespaces`))));
  return [{ what: 'namespaces of each kind (user.max_…_namespaces, the lowest)', used, limit: tightest }];
}

/** The kernel numbers memory groups with 16 bits. */
const MEMORY_GROUPS_MAX = 65_535;

function controlGroups(): readonly Limit[] {
  return readProc('cgroups')
    .split('\n')
    .flatMap((line) => {
      const [name, , count] = line.split('\t');
      if (name === undefined || !['memory', 'pids', 'cpu'].includes(name)) return [];
      return [{ what: `control groups for ${name}`, used: Number(count), limit: name === 'memory' ? MEMORY_GROUPS_MAX : undefined }];
    });
}

function lines(path: string): number {
  return readProc(path).trimEnd().split('\n').length;
}
