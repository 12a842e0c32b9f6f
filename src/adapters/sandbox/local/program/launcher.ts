import { type ChildProcess, spawn } from 'node:child_process';
import { Duplex, type Readable, type Stream, type Writable } from 'node:stream';
import { InfrastructureError, getMessage } from '../../../../kernel/errors.ts';

/** Shown in the process table until the launcher has become what holds the sandbox. */
const LAUNCHER_NAME = 'muster-launch';

/** The holder of a sandbox gets nothing of Muster's environment: a sandbox may be able to read that of its first process. */
export const OUTSIDE_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * Enters the control groups: everything that the shell becomes or starts from then on is in them. Arguments: files to write the process id to, `--`,
 * the rest, which remains as the arguments.
 */
export const ENTER_GROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift';

/** Says what a descriptor of a child refers to. */
export type StdioEntry = number | 'pipe' | 'ignore' | Stream;

/** How to start a shell: see `startLauncher`. */
export interface ShellStart {
  readonly script: string;
  readonly argv: readonly string[];
  readonly beyond: readonly StdioEntry[];
}

export interface Launcher {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Starts a shell with a script that becomes something else.
 *
 * @param beyond its descriptors from 3 on. @throws InfrastructureError `sandbox.spawn` when the machine is out of processes or file descriptors.
 */
export async function startLauncher(script: string, argv: readonly string[], beyond: readonly StdioEntry[]): Promise<Launcher> {
  return awaitLauncher(spawnShell(script, argv, beyond));
}

/**
 * Starts two shells that share a socket pair: each has one end of it at a descriptor.
 *
 * Both are started in the same turn of the event loop, in which Muster's copy is closed: nothing sent there is ever read here.
 *
 * @param descriptor of the pair's end, in both. @throws InfrastructureError `sandbox.spawn`; then neither is left.
 */
export async function startJoinedLaunchers(
  first: ShellStart,
  second: ShellStart,
  descriptor: number,
): Promise<readonly [Launcher, Launcher]> {
  const withLine = (beyond: ShellStart['beyond'], line: 'pipe' | Stream): readonly StdioEntry[] => {
    const stdio: StdioEntry[] = [...beyond];
    while (stdio.length <= descriptor - 3) stdio.push('ignore');
    stdio[descriptor - 3] = line;
    return stdio;
  };
  const one = spawnShell(first.script, first.argv, withLine(first.beyond, 'pipe'));
  const line = one.stdio[descriptor];
  let other: ChildProcess | undefined;
  try {
    if (line instanceof Duplex) other = spawnShell(second.script, second.argv, withLine(second.beyond, line));
  } finally {
    line?.destroy();
    if (!other) one.kill('SIGKILL');
  }
  const ends = await Promise.allSettled([awaitLauncher(one), ...(other ? [awaitLauncher(other)] : [])]);
  const [a, b] = ends;
  if (a.status === 'fulfilled' && b?.status === 'fulfilled') return [a.value, b.value];
  one.kill('SIGKILL');
  other?.kill('SIGKILL');
  throw ends.find((end) => end.status === 'rejected')?.reason ?? spawnError('there was no socket pair');
}

async function awaitLauncher(child: ChildProcess): Promise<Launcher> {
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined || !stdin || !stdout || !stderr) throw await spawnFailure(child);
  return { process: child, pid, stdin, stdout, stderr };
}

/** Returns Muster's end of the pipe at a descriptor from 3 on. */
export function getPipe({ process }: Launcher, descriptor: 3 | 4): Duplex {
  const pipe = process.stdio[descriptor];
  if (pipe instanceof Duplex) return pipe;
  throw new InfrastructureError('sandbox.spawn', `a sandbox process was started without a pipe at descriptor ${descriptor}`);
}

function spawnShell(script: string, words: readonly string[], beyond: readonly StdioEntry[]): ChildProcess {
  const argv = ['-c', script, LAUNCHER_NAME, ...words];
  try {
    // The program has a session of its own: Ctrl-C on Muster's terminal is for Muster, which ends its sandboxes when it no longer needs them.
    return spawn('/bin/sh', argv, { detached: true, stdio: ['pipe', 'pipe', 'pipe', ...beyond], env: OUTSIDE_ENVIRONMENT, cwd: '/' });
  } catch (error) {
    throw spawnError(error);
  }
}

async function spawnFailure(child: ChildProcess): Promise<InfrastructureError> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  child.once('error', resolve);
  return spawnError(await promise);
}

function spawnError(cause: unknown): InfrastructureError {
  const remedy = 'raise the limits on processes and open files (ulimit -u, ulimit -n), or lower the number of sandboxes';
  return new InfrastructureError('sandbox.spawn', `a sandbox process could not be started: ${getMessage(cause)}; ${remedy}`, { cause });
}
