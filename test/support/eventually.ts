import { setTimeout as pause } from 'node:timers/promises';

/** How long the operating system may take before a condition counts as never fulfilled. */
const DEADLINE_MS = 90_000;

/** Resolves when the condition holds. For what gives no event of its own: process tables and directories of the kernel. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
    await pause(5);
  }
}
