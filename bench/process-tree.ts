import { readdirSync, readFileSync } from 'node:fs';
import { sleep, systemClock } from '../src/kernel/clock.ts';

/** A process for good: ids are used again, but not with the same start. */
export interface KnownProcess {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTime: string;
}

const LOOK_MILLISECONDS = 2;
const GONE_DEADLINE_MILLISECONDS = 60_000;

/** All processes below one, from /proc; those that end meanwhile are left out. */
export function descendants(root: number): readonly KnownProcess[] {
  const children = new Map<number, KnownProcess[]>();
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? statOf(Number(entry)) : undefined;
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), { pid: Number(entry), startTime: stat.startTime }]);
  }
  const found: KnownProcess[] = [];
  const visit = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      found.push(child);
      visit(child.pid);
    }
  };
  visit(root);
  return found;
}

/**
 * Resolves when none of them is in the process table, not even as an exit status that its parent has not asked for; but for those that are
 * left to the first process of the machine, which asks when it likes.
 *
 * @returns when that was, as `performance.now()` has it.
 * @throws Error after a minute.
 */
export async function untilGone(processes: readonly KnownProcess[]): Promise<number> {
  const deadline = performance.now() + GONE_DEADLINE_MILLISECONDS;
  // What is gone stays gone: one look each, and more at those only that are still there.
  for (const { pid, startTime } of processes) {
    while (isThere(statOf(pid), startTime)) {
      if (performance.now() > deadline) throw new Error(`process ${pid} is still there: ${readProc(`${pid}/status`).slice(0, 200)}`);
      await sleep(systemClock, LOOK_MILLISECONDS);
    }
  }
  return performance.now();
}

/** Empty when there is no such process any more. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}

function isThere(stat: Stat | undefined, startTime: string): boolean {
  return stat?.startTime === startTime && !(stat.state === 'Z' && stat.parent === 1);
}

interface Stat {
  /** One letter: proc_pid_stat(5). */
  readonly state: string;
  readonly parent: number;
  readonly startTime: string;
}

function statOf(pid: number): Stat | undefined {
  const stat = readProc(`${pid}/stat`);
  // The command's name stands in parentheses and may hold anything, so fields are counted from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, startTime] = [fields[0], fields[1], fields[19]];
  if (state === undefined || parent === undefined || startTime === undefined) return undefined;
  return { state, parent: Number(parent), startTime };
}
