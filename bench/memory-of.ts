import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Of this process, after everything that can be collected has been. */
export interface OwnMemory {
  readonly heapBytes: number;
  /** Buffers and other memory that JavaScript objects hold outside of the heap. */
  readonly externalBytes: number;
  readonly rssBytes: number;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  if (typeof gc !== 'function') throw new Error('this Node offers no gc()');
  for (let i = 0; i < 4; i += 1) Reflect.apply(gc, undefined, []);
}

export function ownMemory(): OwnMemory {
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapBytes: heapUsed, externalBytes: external, rssBytes: rss };
}

/** Memory of processes with what they share divided among them, summed by the name of the program. */
export interface ProcessMemory {
  processes: number;
  pssBytes: number;
}

/** All descendants of this process, from /proc; those that end meanwhile are left out. */
export function descendantMemory(): Map<string, ProcessMemory> {
  const byName = new Map<string, ProcessMemory>();
  for (const pid of descendants(process.pid)) {
    const rollup = readProc(`${pid}/smaps_rollup`);
    const pss = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
    if (pss === undefined) continue;
    const name = readProc(`${pid}/comm`).trim();
    const sum = byName.get(name) ?? { processes: 0, pssBytes: 0 };
    byName.set(name, { processes: sum.processes + 1, pssBytes: sum.pssBytes + 1024 * Number(pss) });
  }
  return byName;
}

function descendants(root: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(/^\d+$/.test(entry) ? readProc(`${entry}/stat`) : '')?.[1];
    if (parent !== undefined) children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(entry)]);
  }
  const found: number[] = [];
  const visit = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      found.push(child);
      visit(child);
    }
  };
  visit(root);
  return found;
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
