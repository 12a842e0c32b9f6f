import { setTimeout as pause } from 'node:timers/promises';

/** How long the operating system may take before a condition counts as never fulfilled. */
const DEADLINE_MS = 90_000;

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/**
 * Resolves when the condition holds. For what gives no event of its own: process tables and directories of the kernel. A look at one of them
 * takes some milliseconds of a processor, which those that are waited for need: the longer the wait, the longer the pause between two looks.
 */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const begin = performance.now();
  while (!(await condition())) {
    const waited = performance.now() - begin;
    if (waited > DEADLINE_MS) throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
    await pause(Math.min(Math.max(SHORTEST_PAUSE_MS, waited / 10), LONGEST_PAUSE_MS));
  }
}
