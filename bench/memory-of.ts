import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { descendants, readProc } from './process-tree.ts';

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
  for (const { pid } of descendants(process.pid)) {
    const pss = pssBytesOf(pid);
    if (pss === undefined) continue;
    const name = readProc(`${pid}/comm`).trim();
    const sum = byName.get(name) ?? { processes: 0, pssBytes: 0 };
    byName.set(name, { processes: sum.processes + 1, pssBytes: sum.pssBytes + pss });
  }
  return byName;
}

/** Of the sandboxes of this process, and of what they are forked from. */
export interface SandboxMemory {
  readonly sandboxes: ProcessMemory;
  readonly zygote: ProcessMemory;
}

/** @param start of the sandboxes: plain ones have nothing beside themselves. */
export function sandboxMemory(start: 'forked' | 'plain'): SandboxMemory {
  const sum = { sandboxes: { processes: 0, pssBytes: 0 }, zygote: { processes: 0, pssBytes: 0 } };
  const own = pidNamespacesOf(process.pid);
  for (const { pid } of descendants(process.pid)) {
    const pss = pssBytesOf(pid);
    if (pss === undefined) continue;
    // The zygote lives in a pid namespace of its own, and each forked sandbox in one within that.
    const part = start === 'forked' && pidNamespacesOf(pid) < own + 2 ? sum.zygote : sum.sandboxes;
    part.processes += 1;
    part.pssBytes += pss;
  }
  return sum;
}

/** What the kernel could still give to programs, in bytes: what goes missing from it has all been used, in the kernel too. */
export function availableBytes(): number {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readProc('meminfo'))?.[1];
  if (kibibytes === undefined) throw new Error('/proc/meminfo does not say how much memory is available');
  return 1024 * Number(kibibytes);
}

function pssBytesOf(pid: number): number | undefined {
  const kibibytes = /^Pss:\s+(\d+) kB$/m.exec(readProc(`${pid}/smaps_rollup`))?.[1];
  return kibibytes === undefined ? undefined : 1024 * Number(kibibytes);
}

/** How many pid namespaces a process is in: each within the next, as far as they can be seen from here. */
function pidNamespacesOf(pid: number): number {
  return /^NSpid:\s+(.*)$/m.exec(readProc(`${pid}/status`))?.[1]?.split('\t').length ?? 0;
}
