import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBubblewrapProvider } from '../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId } from '../src/kernel/ids.ts';

const LONGEST_END_SECONDS = 10;
const LOOK_MILLISECONDS = 50;

/**
 * Runs a process with a directory of its own for temporary files. Afterwards the process group, the directory, and the control groups of
 * sandboxes are gone, however the process has ended. What it has started in other groups ends with it (`dependent`).
 *
 * @param start starts the process in a process group of its own (`detached`), with this directory as TMPDIR.
 * @param signal ends it.
 * @returns its exit code, as a shell has it.
 */
export async function runContained(start: (directory: string) => ChildProcess, signal: AbortSignal): Promise<number> {
  // Short: paths of sockets below it may have 107 bytes.
  const directory = await mkdtemp(join(tmpdir(), 'm-'));
  try {
    // Servers that refuse to run as root run as other users.
    await chmod(directory, 0o1777);
    signal.throwIfAborted();
    return await untilEnded(start(directory), signal);
  } finally {
    await sweep(directory);
    // The kernel takes a moment to end what depends on the process.
    await rm(directory, { recursive: true, force: true, maxRetries: 20 });
  }
}

async function untilEnded(child: ChildProcess, signal: AbortSignal): Promise<number> {
  const ended = once(child, 'exit');
  const end = (): Promise<void> => (child.pid === undefined ? Promise.resolve() : endGroup(child.pid));
  let ending: Promise<void> | undefined;
  const abort = (): void => void (ending = end());
  signal.addEventListener('abort', abort);
  try {
    await ended;
    const { exitCode, signalCode } = child;
    return exitCode ?? 128 + (signalCode === null ? 0 : constants.signals[signalCode]);
  } finally {
    signal.removeEventListener('abort', abort);
    await (ending ?? end());
  }
}

async function endGroup(group: number): Promise<void> {
  const deadline = performance.now() + 1000 * LONGEST_END_SECONDS;
  let isThere = kill(group, 'SIGTERM');
  while (isThere && performance.now() < deadline) {
    await sleep(systemClock, LOOK_MILLISECONDS);
    isThere = kill(group, 0);
  }
  if (isThere) kill(group, 'SIGKILL');
}

/** Control groups of sandboxes that ended with their owner: the state directories below the directory name their owners. */
async function sweep(directory: string): Promise<void> {
  const below = await readdir(directory, { recursive: true, withFileTypes: true });
  const owners = below.filter((entry) => entry.isDirectory() && entry.name === 'sandboxes');
  for (const { parentPath: stateDir } of owners) {
    await using provider = createBubblewrapProvider({ stateDir, owner: parseOwnerId(`sweep-${process.pid}`), clock: systemClock });
    await provider.sweep(new AbortController().signal);
  }
}

/** @returns whether anything of the group is there. */
function kill(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}
