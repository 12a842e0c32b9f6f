import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBubblewrapProvider } from '../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId } from '../src/kernel/ids.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Order, BenchmarkMessage } from './one-benchmark.ts';

const LONGEST_END_SECONDS = 10;
const LOOK_MILLISECONDS = 50;

/**
 * Runs one benchmark in a process group of its own, with a directory of its own for temporary files: both are gone afterwards, however it
 * ends.
 *
 * @param onMessage receives the messages of the process in order; the process does not wait for it.
 * @throws Error when it ends otherwise than by itself and well; the signal's reason when it was aborted.
 */
export async function inOwnProcess(
  { name, quick, order, signal }: { readonly name: string; readonly quick: boolean; readonly order: Order; readonly signal: AbortSignal },
  onMessage: (message: BenchmarkMessage) => Promise<void>,
): Promise<void> {
  // Short: paths of sockets below it may have 107 bytes.
  const directory = await mkdtemp(join(tmpdir(), 'mb-'));
  const child = fork(join(PACKAGE_ROOT, 'bench/one-benchmark.ts'), [name, ...(quick ? ['--quick'] : [])], {
    detached: true,
    env: { ...process.env, TMPDIR: directory },
  });
  const group = child.pid;
  const abort = (): void => void (group !== undefined && kill(group, 'SIGTERM'));
  signal.addEventListener('abort', abort);
  try {
    let handled: Promise<void> = Promise.resolve();
    child.on('message', (message: BenchmarkMessage) => void (handled = handled.then(() => onMessage(message))));
    child.send(order);
    const [code, killedBy] = await once(child, 'exit');
    await handled;
    signal.throwIfAborted();
    if (code !== 0) throw new Error(`benchmark ${name} ended with ${killedBy ?? `code ${code}`}`);
  } finally {
    signal.removeEventListener('abort', abort);
    if (group !== undefined) await endGroup(group);
    await sweep(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Control groups of sandboxes that ended with their owner: in the state directories below stands whose they are. */
async function sweep(directory: string): Promise<void> {
  const below = await readdir(directory, { recursive: true, withFileTypes: true });
  const owners = below.filter((entry) => entry.isDirectory() && entry.name === 'sandboxes');
  for (const { parentPath: stateDir } of owners) {
    await using provider = createBubblewrapProvider({ stateDir, owner: parseOwnerId(`bench-sweep-${process.pid}`), clock: systemClock });
    await provider.sweep(new AbortController().signal);
  }
}

/** Whatever the process had started. */
async function endGroup(group: number): Promise<void> {
  const deadline = performance.now() + 1000 * LONGEST_END_SECONDS;
  let isThere = kill(group, 'SIGTERM');
  while (isThere && performance.now() < deadline) {
    await sleep(systemClock, LOOK_MILLISECONDS);
    isThere = kill(group, 0);
  }
  if (isThere) kill(group, 'SIGKILL');
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
