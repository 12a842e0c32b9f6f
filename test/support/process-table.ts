import { readdirSync, readFileSync } from 'node:fs';

/**
 * The process table of this machine, for tests that look at it again and again. A look at 240 processes takes 2 ms of a processor; one by way of
 * Node's threads, as Muster's own, takes 20. Muster does without: a hostile program can keep the reader of its command line waiting.
 */

export interface ListedProcess {
  readonly pid: number;
  readonly argv: readonly string[];
}

/** All but those that have ended, or have no command line. */
export function listProcesses(): readonly ListedProcess[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.flatMap((pid) => {
    const commandLine = readProcessFile(pid, 'cmdline');
    return commandLine === '' ? [] : [{ pid, argv: commandLine.split('\0') }];
  });
}

export function listChildren(pid: number): readonly number[] {
  return readProcessFile(pid, `task/${pid}/children`).split(' ').map(Number).filter(Boolean);
}

/** A file of a process, as "status". Empty when the process has ended, or may not be looked at. */
export function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
