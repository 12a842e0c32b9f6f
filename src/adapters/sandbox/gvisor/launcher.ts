import { type ChildProcess, spawn } from 'node:child_process';
import { pipeline, type Readable, type Writable } from 'node:stream';
import { InfrastructureError, messageOf } from '../../../kernel/errors.ts';
import type { DescriptorCover } from '../local/inherited-descriptors.ts';
import { StartMark } from './start-mark.ts';

/** Shown in the process table until the launcher has become runsc. */
const LAUNCHER_NAME = 'muster-launch';

/** runsc gets nothing of Muster's environment. */
const OUTSIDE_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * Enters the control groups, asks to die with Muster, then becomes runsc, whose other processes die with it: whatever it
 * starts is in the groups from its first instruction. Arguments: files to write the process id to, `--`, the command.
 */
const LAUNCH = 'ulimit -c 0; while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec setpriv --pdeathsig KILL -- "$@"';

export interface Launch {
  /** runsc with its arguments. */
  readonly command: readonly string[];
  /** Makes up for descriptors of Muster's that a child would inherit. */
  readonly covered: DescriptorCover;
  /** Where to write the process id to, before anything is forked. */
  readonly memberFiles: readonly string[];
}

export interface LaunchedProcess {
  readonly process: ChildProcess;
  readonly stdin: Writable;
  /** Without the mark. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Whether the program is about to start; false when it never will. */
  readonly started: Promise<boolean>;
}

/** @throws InfrastructureError when the machine is out of processes or file descriptors. */
export async function launch({ command, covered, memberFiles }: Launch): Promise<LaunchedProcess> {
  const child = start(['-c', LAUNCH, LAUNCHER_NAME, ...memberFiles, '--', ...command], covered);
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined || !stdin || !stdout || !stderr) throw await spawnFailure(child);
  const mark = new StartMark();
  // The end of either is the end of both; how the program ended is told by its exit.
  pipeline(stdout, mark, () => {});
  return { process: child, stdin, stdout: mark, stderr, started: mark.seen };
}

function start(argv: readonly string[], covered: DescriptorCover): ChildProcess {
  try {
    // In a session of its own: Ctrl-C on Muster's terminal is for Muster, which ends its sandboxes when it has what it wants of them.
    return spawn('/bin/sh', argv, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'ignore', 'ignore', ...covered.stdio],
      env: OUTSIDE_ENVIRONMENT,
      cwd: '/',
    });
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
  return new InfrastructureError('sandbox.spawn', `a sandbox process could not be started: ${messageOf(cause)}; ${remedy}`, { cause });
}
