import { fork } from 'node:child_process';
import { join } from 'node:path';
import { runContained } from '../scripts/contained-process.ts';
import { dependentFork } from '../scripts/dependent-process.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Order, BenchmarkMessage } from './one-benchmark.ts';

/**
 * Runs one benchmark in a process of its own that leaves nothing behind.
 *
 * @param onMessage receives the messages of the process in order; the process does not wait for it.
 * @throws Error when it ends otherwise than by itself and well; the signal's reason when it was aborted.
 */
export async function inOwnProcess(
  { name, quick, order, signal }: { readonly name: string; readonly quick: boolean; readonly order: Order; readonly signal: AbortSignal },
  onMessage: (message: BenchmarkMessage) => Promise<void>,
): Promise<void> {
  let handled: Promise<void> = Promise.resolve();
  const start = (directory: string) => {
    const env = { ...process.env, TMPDIR: directory };
    const words = [name, ...(quick ? ['--quick'] : [])];
    const child = fork(join(PACKAGE_ROOT, 'bench/one-benchmark.ts'), words, { ...dependentFork(), detached: true, env });
    child.on('message', (message: BenchmarkMessage) => void (handled = handled.then(() => onMessage(message))));
    child.send(order);
    return child;
  };
  const code = await runContained(start, signal);
  await handled;
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`benchmark ${name} ended with code ${code}`);
}
