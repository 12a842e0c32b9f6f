import { readFile, readdir } from 'node:fs/promises';
import { type Clock, sleep } from '../../../../kernel/clock.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import { hasErrno } from '../../../../kernel/errno.ts';

/** The time in which killed processes have to go before that counts as a failure: a process in the middle of disk access may need seconds. */
const GONE_DEADLINE_MS = 10_000;
/** The pause between two looks. A killed process is mostly gone within a millisecond. */
const GONE_PAUSE_MS = 2;

/**
 * Reads when a process began, in clock ticks since boot. Together with the process id it names a process uniquely, since ids are reused.
 *
 * @returns undefined when there is no such process, or it is a zombie.
 */
export async function readStartTime(pid: number): Promise<string | undefined> {
  const stat = await readProcessFile(pid, 'stat');
  if (stat === undefined) return undefined;
  // The command's name is in parentheses and may contain any character, so fields are counted from the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

/** @returns undefined when the kernel does not tell (CONFIG_PROC_CHILDREN), or the process is gone. */
export async function listChildren(pid: number): Promise<readonly number[] | undefined> {
  const text = await readProcessFile(pid, `task/${pid}/children`);
  return text?.split(' ').map(Number).filter(Boolean);
}

export interface RunningProcess {
  readonly pid: number;
  readonly argv: readonly string[];
}

/** Lists every process that this user may read. One pass costs two system calls a process, so it is only for rare use. */
export async function listProcesses(): Promise<readonly RunningProcess[]> {
  const found: RunningProcess[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const commandLine = await readProcessFile(pid, 'cmdline');
    if (commandLine) found.push({ pid, argv: commandLine.split('\0') });
  }
  return found;
}

/** Whether a process is the first one of a pid namespace below this one's. */
export async function isFirstOfNamespace(pid: number): Promise<boolean> {
  const status = await readProcessFile(pid, 'status');
  const ids = /^NSpid:\s+(.*)$/m.exec(status ?? '')?.[1]?.split(/\s+/) ?? [];
  return ids.length > 1 && ids.at(-1) === '1';
}

/** Reads the roots of a process's mounts, as paths within their file systems. The result is empty when the process is gone, or may not be read. */
export async function readMountedPaths(pid: number): Promise<readonly string[]> {
  // proc_pid_mountinfo(5): the fourth field is the path within the file system.
  const table = await readProcessFile(pid, 'mountinfo');
  return (table ?? '').split('\n').map((line) => line.split(' ')[3] ?? '');
}

/** Sends SIGKILL; a process that is gone already is what was wanted. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!hasErrno(error, 'ESRCH')) throw error;
  }
}

/**
 * Resolves as soon as `isGone` does with true.
 *
 * @param what is waited for, in the plural, for the message.
 * @throws InfrastructureError after ten seconds.
 */
export async function waitUntilGone(what: string, isGone: () => Promise<boolean>, clock: Clock): Promise<void> {
  const deadline = clock.now() + GONE_DEADLINE_MS;
  while (!(await isGone())) {
    if (clock.now() >= deadline) {
      throw new InfrastructureError('sandbox.stuck', `${what} still run ${GONE_DEADLINE_MS / 1000} s after they were killed`);
    }
    await sleep(clock, GONE_PAUSE_MS);
  }
}

async function readProcessFile(pid: number, name: string): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL')) return undefined;
    throw error;
  }
}
