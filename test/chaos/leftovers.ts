import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { listProcesses } from '../support/process-table.ts';
import { getSandboxesDirectory } from '../../src/adapters/sandbox/local/owner-record.ts';
import type { Stage } from '../end-to-end/stage.ts';

/**
 * Everything that Musters which have ended have left of their work: processes, control groups, sandboxes' directories, sockets, holds on
 * checkpoints, and files that were on their way into the store.
 */
export async function leftBehind(stage: Stage, stateDirs: readonly string[]): Promise<readonly string[]> {
  const processes = listProcesses().filter(({ argv }) => argv.some((word) => word.includes(stage.directory)));
  const found = await Promise.all(stateDirs.map(inState));
  return [
    ...processes.map(({ pid, argv }) => `process ${pid}: ${argv.slice(0, 4).join(' ')}`),
    ...(await stage.traces()),
    ...(await openSockets(stage.directory)),
    ...found.flat(),
  ];
}

async function inState(stateDir: string): Promise<readonly string[]> {
  const directories = [getSandboxesDirectory(stateDir), ...['holds', 'incoming'].map((name) => path.join(stateDir, 'store', name))];
  const entries = await Promise.all(directories.map(async (each) => (await readdir(each)).map((name) => path.join(each, name))));
  const all = await readdir(stateDir, { recursive: true, withFileTypes: true });
  const sockets = all.filter((entry) => entry.isSocket()).map(({ parentPath, name }) => `socket ${path.join(parentPath, name)}`);
  return [...entries.flat(), ...sockets];
}

/** Unix sockets with a name, as the kernel lists them. */
async function openSockets(directory: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/net/unix', 'utf8')).split('\n');
  return lines.filter((line) => line.includes(directory)).map((line) => `open socket ${line.split(' ').at(-1)}`);
}
