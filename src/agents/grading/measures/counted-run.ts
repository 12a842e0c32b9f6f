import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Command, CommandResult, PrintedOutput, WorkspaceFile } from '../../workspace/command.ts';

const VALGRIND = '/usr/bin/valgrind';
/** It goes to a socket that nothing can open by a path. The program itself is counted, not what it executes in its place. */
const OPTIONS = ['--tool=callgrind', '--callgrind-out-file=/dev/null', '--log-fd=3', '--vgdb=no', '--trace-children=no'];
/** A program that is counted may take so many times longer. */
const SLOWDOWN = 100;
const HEADER = /^==\d+== Callgrind, /gm;
const TOTAL = /^==\d+== Collected : (?<count>\d{1,15})\s*$/gm;

/**
 * The instructions by which programs communicate with valgrind, and could stop the counting: `rol` of a register by 3, 13, 61 and 51 on x86-64, and
 * `ror` by 3, 13, 51 and 61 on 64-bit ARM (valgrind.h).
 */
const REQUESTS = ['48c1c70348c1c70d48c1c73d48c1c733', '8c0dcc938c35cc938ccdcc938cf5cc93'].map((hex) => Buffer.from(hex, 'hex'));

/** A number of instructions, or why there is none. */
export type Counted = { readonly count: number; readonly reason?: undefined } | { readonly count?: undefined; readonly reason: string };

/**
 * Has callgrind count the command's instructions. The command may start neither processes nor threads, which could end uncounted. valgrind makes
 * system calls of its own, so none is watched.
 */
export function countCommand(command: Command): Command {
  return {
    ...command,
    argv: [VALGRIND, ...OPTIONS, '--', ...command.argv],
    seconds: command.seconds * SLOWDOWN,
    reports: true,
    alone: true,
  };
}

/**
 * Reads the number of executed instructions, as callgrind reports it.
 *
 * @throws InfrastructureError where there is no valgrind.
 */
export function readCount({ end, report }: CommandResult): Counted {
  if (end.kind === 'unstartable') throw createNoValgrindError(end.detail);
  const text = getText(report);
  if (end.kind === 'exited' && end.code === 1 && !text.includes('Callgrind')) throw createNoValgrindError('it did not start');
  const totals = Array.from(text.matchAll(TOTAL), ({ groups }) => Number(groups?.['count']));
  const [count] = totals;
  if (end.kind === 'timeout') return { reason: `could not be counted within ${SLOWDOWN} times the time that it may take` };
  if (count !== undefined && totals.length === 1 && Array.from(text.matchAll(HEADER)).length === 1) return { count };
  return { reason: 'could not be counted: the program has become another one, or has kept callgrind from saying the count' };
}

/** Returns why the instructions of these files cannot be counted; undefined when they can. */
export function findCountingProblem(files: readonly WorkspaceFile[]): string | undefined {
  const found = files.find(({ content }) => REQUESTS.some((request) => content.includes(request)));
  return found && `${found.path} speaks to valgrind, which could keep it from counting`;
}

function getText({ head, tail }: PrintedOutput): string {
  return `${head.toString('latin1')}${tail.toString('latin1')}`;
}

function createNoValgrindError(detail: string): InfrastructureError {
  const remedy = 'instructions are counted by valgrind: install it in the root file system of the task';
  return new InfrastructureError('task.no-valgrind', `${VALGRIND}: ${detail}; ${remedy}`);
}
