import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { killProcess } from '../../src/adapters/sandbox/local/host/process-table.ts';

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

/**
 * The processes that run commands in workspaces: programs of their own, or forked from a warden as the first process of a namespace.
 *
 * @param directory that is mounted in each of them.
 */
export function listWorkspaces(directory: string): readonly ListedProcess[] {
  return listProcesses().filter(({ pid, argv }) => {
    if (!argv[0]?.startsWith('/muster/') || !readProcessFile(pid, 'mountinfo').includes(path.basename(directory))) return false;
    const isForked = argv.some((word) => word.endsWith('/zygote.py')) && /^NSpid:.*\t1$/m.test(readProcessFile(pid, 'status'));
    return isForked || argv.some((word) => word.endsWith('/workspace.py'));
  });
}

/** Kills them all. @returns how many there were. */
export function killWorkspaces(directory: string): number {
  const found = listWorkspaces(directory);
  for (const { pid } of found) killProcess(pid);
  return found.length;
}
