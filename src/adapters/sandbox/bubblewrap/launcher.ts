import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { InfrastructureError, messageOf } from '../../../kernel/errors.ts';
import type { SandboxLimits } from '../../../pool/template.ts';
import type { DescriptorCover } from '../local/inherited-descriptors.ts';
import { FILTER_DESCRIPTOR } from './command-line.ts';

/** Shown in the process table until the launcher has become bubblewrap. */
const LAUNCHER_NAME = 'muster-launch';

/** The launcher and bubblewrap get nothing of Muster's environment: a sandbox can read that of its first process. */
const OUTSIDE_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** Open files of one process. */
export const OPEN_FILES = 4096;

/**
 * Opens the filter, enters the control groups, then becomes bubblewrap: whatever bubblewrap forks is in them from its first instruction.
 * Arguments: the filter's file, files to write the process id to, `--`, the command.
 */
const LAUNCH = `exec ${FILTER_DESCRIPTOR}<"$1" || exit 125; shift; while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"`;

/** Inside: tells on fd 3 that the sandbox stands, then becomes the program. A program that is not found is exit code 127, as in a shell. */
const START = 'echo started >&3; exec 3>&-; exec "$@"';

export interface Launch {
  /** bubblewrap with its arguments, up to the program. */
  readonly bubblewrap: readonly string[];
  /** Arguments that bubblewrap reads from descriptor 4, without NUL characters. */
  readonly unlisted: readonly string[];
  /** The file with the system-call filter. */
  readonly filter: string;
  readonly program: readonly string[];
  readonly limits: SandboxLimits;
  /** Makes up for descriptors of Muster's that a child would inherit. */
  readonly covered: DescriptorCover;
  /** Where to write the process id to, before anything is forked. */
  readonly memberFiles: readonly string[];
  /** Limits to set for each process, for want of a control group. */
  readonly rlimits: { readonly memory: boolean; readonly processes: boolean };
}

export interface LaunchedProcess {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Has data when the program is about to start, and ends without any when it will not. */
  readonly started: Readable;
}

/** @throws InfrastructureError when the machine is out of processes or file descriptors. */
export async function launch(plan: Launch): Promise<LaunchedProcess> {
  const outside = [
    '-c',
    `${outsideLimits(plan.limits)}; ulimit -n ${OPEN_FILES} 2>/dev/null || :; ${LAUNCH}`,
    LAUNCHER_NAME,
    plan.filter,
    ...plan.memberFiles,
    '--',
    ...plan.bubblewrap,
  ];
  const inside = ['/bin/sh', '-c', `${insideLimits(plan)}${START}`, 'muster-start', ...plan.program];
  const child = start([...outside, ...inside], ['pipe', 'pipe', ...plan.covered.stdio]);
  const { pid, stdin, stdout, stderr } = child;
  const { 3: started, 4: unlisted } = child.stdio;
  if (pid === undefined || !stdin || !stdout || !stderr || !started || !('read' in started) || !unlisted || !('write' in unlisted)) {
    throw await spawnFailure(child);
  }
  handOver(plan.unlisted, unlisted);
  return { process: child, pid, stdin, stdout, stderr, started };
}

/** A process that Muster launches to hold sandboxes. */
export interface LaunchedHolder {
  readonly process: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Launches bubblewrap with a program that makes sandboxes rather than being one. It has no limit on its own open files.
 *
 * @param descriptors to be handed on, from descriptor 5 on.
 * @throws InfrastructureError when the machine is out of processes or file descriptors.
 */
export async function launchHolder(
  plan: Pick<Launch, 'bubblewrap' | 'unlisted' | 'program' | 'limits' | 'covered'>,
  descriptors: readonly number[],
): Promise<LaunchedHolder> {
  const outside = ['-c', `${outsideLimits(plan.limits)}; exec "$@"`, LAUNCHER_NAME, ...plan.bubblewrap, ...plan.program];
  const child = start(outside, ['ignore', 'pipe', ...descriptors, ...plan.covered.stdio.slice(descriptors.length)]);
  const { pid, stdin, stdout, stderr } = child;
  const { 4: unlisted } = child.stdio;
  if (pid === undefined || !stdin || !stdout || !stderr || !unlisted || !('write' in unlisted)) throw await spawnFailure(child);
  handOver(plan.unlisted, unlisted);
  return { process: child, stdin, stdout, stderr };
}

/** @param beyond what it has at descriptors 3, 4 and so on. */
function start(argv: readonly string[], beyond: readonly (number | 'pipe' | 'ignore')[]): ChildProcess {
  try {
    // In a session of its own: Ctrl-C on Muster's terminal is for Muster, which ends its sandboxes when it has what it wants of them.
    return spawn('/bin/sh', argv, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', ...beyond],
      env: OUTSIDE_ENVIRONMENT,
      cwd: '/',
    });
  } catch (error) {
    throw spawnError(error);
  }
}

function handOver(words: readonly string[], pipe: Writable): void {
  // A launcher that dies before it has read them says so by its exit.
  pipe.on('error', () => {});
  pipe.end(words.map((word) => `${word}\0`).join(''), () => pipe.destroy());
}

async function spawnFailure(child: ChildProcess): Promise<InfrastructureError> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  child.once('error', resolve);
  return spawnError(await promise);
}

function spawnError(cause: unknown): InfrastructureError {
  const remedy = 'raise the limits on processes and open files (ulimit -u, ulimit -n), or lower the number of sandboxes';
  return new InfrastructureError('sandbox.spawn', `a sandbox process could not be started: ${messageOf(cause)}; ${remedy}`, { cause });
}

/** A limit that is lower already cannot be raised, and need not be. */
function outsideLimits({ diskBytes }: SandboxLimits): string {
  return `ulimit -c 0; ulimit -f ${Math.ceil(diskBytes / 512)} 2>/dev/null || :`;
}

/** The number of processes is counted within the sandbox's own user namespace, so it is set inside. Shells differ in the option. */
function insideLimits({ limits, rlimits }: Launch): string {
  const memory = `ulimit -v ${Math.ceil(limits.memoryBytes / 1024)} || exit 125; `;
  // bubblewrap's monitor stays outside of the namespace, its reaper counts.
  const count = limits.processes + 1;
  const processes = `ulimit -u ${count} 2>/dev/null || ulimit -p ${count} || exit 125; `;
  return `${rlimits.memory ? memory : ''}${rlimits.processes ? processes : ''}`;
}
