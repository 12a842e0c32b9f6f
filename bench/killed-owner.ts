import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createBubblewrapProvider } from '../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId } from '../src/kernel/ids.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { type Leftovers, leftoversOf } from './leftovers.ts';
import { descendants, untilGone } from './process-tree.ts';

const ownedSchema = z.object({ directory: z.string(), owner: z.string() });
type Owned = z.infer<typeof ownedSchema>;

export interface Killed {
  readonly processes: number;
  /** From the signal to the moment when none of them was in the process table. */
  readonly seconds: number;
  /** Of the next Muster, which removes directories and control groups. */
  readonly sweepSeconds: number;
  /** After that sweep. */
  readonly left: Leftovers;
}

/** Kills a Muster that has forked sandboxes, and watches them go. */
export async function killOwner(count: number): Promise<Killed> {
  const child = fork(join(PACKAGE_ROOT, 'bench/sandbox-owner.ts'), [`${count}`]);
  const exit = once(child, 'exit');
  try {
    const owned = await untilWarm(child);
    const processes = descendants(child.pid ?? 0);
    if (processes.length < 2 * count) throw new Error(`${count} forked sandboxes with ${processes.length} processes`);
    const start = performance.now();
    child.kill('SIGKILL');
    const seconds = ((await untilGone(processes)) - start) / 1000;
    return { processes: processes.length, seconds, ...(await swept(owned)) };
  } finally {
    child.kill('SIGKILL');
    await exit;
  }
}

async function untilWarm(child: ChildProcess): Promise<Owned> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  child.once('message', resolve);
  child.once('exit', (code) => reject(new Error(`the Muster to be killed ended by itself with code ${code}`)));
  return ownedSchema.parse(await promise);
}

async function swept({ directory, owner }: Owned): Promise<{ readonly sweepSeconds: number; readonly left: Leftovers }> {
  const start = performance.now();
  {
    await using next = createBubblewrapProvider({ stateDir: directory, owner: parseOwnerId(`${owner}-next`), clock: systemClock });
    await next.sweep(new AbortController().signal);
  }
  const sweepSeconds = (performance.now() - start) / 1000;
  const left = await leftoversOf(directory, owner);
  await rm(directory, { recursive: true, force: true });
  return { sweepSeconds, left };
}
