import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect } from 'vitest';
import { eventually } from './eventually.ts';

/** Fails a test that leaves child processes behind. Import it for its effect on the test file, or name it among vitest's set-up files. */
export function failOnLeftoverProcesses(): void {
  let before: ReadonlySet<string> = new Set();
  beforeEach(() => {
    before = new Set(descendants());
  });
  afterEach(async () => {
    // A process that has been killed is gone a moment later.
    await eventually('every process of the test has gone', () => newSince(before).length === 0).catch(() =>
      expect(newSince(before)).toEqual([]),
    );
  });
}

function newSince(before: ReadonlySet<string>): readonly string[] {
  return descendants().filter((line) => !before.has(line));
}

/** Running processes below this one, as `pid command`. */
export function descendants(): readonly string[] {
  const children = new Map<number, { pid: number; line: string }[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? statOf(pid) : undefined;
    if (!stat || stat.state === 'Z') continue;
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), { pid, line: `${pid} ${stat.command}` }]);
  }
  const below = (pid: number): readonly string[] => (children.get(pid) ?? []).flatMap((child) => [child.line].concat(below(child.pid)));
  return below(process.pid);
}

function statOf(pid: number): { parent: number; state: string; command: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    const [state = '', parent] = stat.slice(end + 2).split(' ');
    return { parent: Number(parent), state, command: stat.slice(stat.indexOf('(') + 1, end) };
  } catch {
    // It ended between being listed and being looked at.
    return undefined;
  }
}
