import { globSync, readFileSync } from 'node:fs';
import { descendants, readProc } from './process-tree.ts';

/** Processor time so far, in milliseconds. */
export interface ProcessorParts {
  /** Muster's own process. */
  readonly server: number;
  /** The processes that fork its sandboxes. */
  readonly wardens: number;
  /** All sandboxes, also those that are gone: the walls, the workspace's program and what it runs. */
  readonly sandboxes: number;
}

/** @param pid of a Muster that makes workspaces. */
export function readProcessorParts(pid: number): ProcessorParts {
  const wardens = descendants(pid).filter((one) => !readProc(`${one.pid}/cgroup`).includes(nameOwner(pid)));
  return {
    server: readProcessMs(pid),
    wardens: wardens.reduce((sum, one) => sum + readProcessMs(one.pid), 0),
    sandboxes: readSandboxMs(pid),
  };
}

/** @throws Error where no control group counts it. */
export function readSandboxMs(pid: number): number {
  const owner = `/sys/fs/cgroup/**/muster/${nameOwner(pid)}*`;
  const [v1] = globSync(`${owner}/cpuacct.usage`);
  if (v1 !== undefined) return Number(readFileSync(v1, 'utf8')) / 1e6;
  const [v2] = globSync(`${owner}/cpu.stat`);
  const used = v2 === undefined ? undefined : /^usage_usec (\d+)$/m.exec(readFileSync(v2, 'utf8'))?.[1];
  if (used === undefined) throw new Error('no control group counts the processor time of sandboxes here; "muster doctor" says why');
  return Number(used) / 1000;
}

/** As src/app/grading/grading-pools.ts names the owner of workspaces and grading sandboxes. */
function nameOwner(pid: number): string {
  return `grading-${pid}-`;
}

/** Of user and system, which the kernel counts in hundredths of a second; 0 when it has ended. */
function readProcessMs(pid: number): number {
  const stat = readProc(`${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 10 * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
}
