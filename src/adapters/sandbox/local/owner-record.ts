import { chmod, mkdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { makeDirectory } from '../../files/made-directory.ts';
import type { OwnerId } from '../../../kernel/ids.ts';
import { ignoreMissing } from '../../../kernel/errno.ts';
import { SYNTHESISED_FILES } from './host/inside-identity.ts';
import { readStartTime } from './host/process-table.ts';
import { filterOfThisMachine } from './program/system-call-filter.ts';
import { listDirectoryNames } from '../../files/path-contents.ts';

const RECORD = 'owner.json';
/** Prefix of a directory that is being filled. No owner id begins so. */
const STARTING = '.starting-';
/** No sandbox id has an underscore. */
const ETC = '_etc';
const FILTER = 'system-calls.bpf';

/** An owner's process and machine. */
export const processSchema = z.object({
  pid: z.number().int().positive(),
  /** Clock ticks since boot. */
  startTime: z.string(),
  bootId: z.string(),
  /** Process ids of another pid namespace mean nothing here. */
  pidNamespace: z.string(),
});
const recordSchema = z.object({ process: processSchema, cgroups: z.array(z.string()) });

/** An owner's process, and the control-group directories of its sandboxes. */
export type OwnerRecord = z.infer<typeof recordSchema>;
export type OwnerProcess = OwnerRecord['process'];

export const getSandboxesDirectory = (stateDir: string): string => path.join(stateDir, 'sandboxes');
export const getOwnerDirectory = (stateDir: string, owner: OwnerId): string => path.join(getSandboxesDirectory(stateDir), owner);
export const getEtcDirectory = (stateDir: string, owner: OwnerId): string => path.join(getOwnerDirectory(stateDir, owner), ETC);

/** Returns the file with the compiled system-call filter of the owner's sandboxes. */
export const getFilterFile = (stateDir: string, owner: OwnerId): string => path.join(getEtcDirectory(stateDir, owner), FILTER);

/** Makes the owner's directory. It appears with its record in it, so that a sweep never finds one whose owner is unknown. */
export async function openOwnerDirectory(stateDir: string, owner: OwnerId, cgroups: readonly string[]): Promise<void> {
  const self = await identifyThisProcess();
  const starting = path.join(getSandboxesDirectory(stateDir), `${STARTING}${self.pid}-${self.startTime}-${owner}`);
  const record: OwnerRecord = { process: self, cgroups: [...cgroups] };
  await makeDirectory(getSandboxesDirectory(stateDir), 0o700);
  await mkdir(path.join(starting, ETC), { recursive: true, mode: 0o700 });
  try {
    for (const [name, text] of Object.entries(SYNTHESISED_FILES)) await writeReadable(path.join(starting, ETC, name), text);
    await writeFile(path.join(starting, ETC, FILTER), filterOfThisMachine());
    await writeFile(path.join(starting, RECORD), JSON.stringify(record));
    await rename(starting, getOwnerDirectory(stateDir, owner));
  } catch (error) {
    await rm(starting, { recursive: true, force: true });
    throw error;
  }
}

/** Writes a file that programs in sandboxes, which may belong to another user, can read whatever the umask is. */
async function writeReadable(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  await chmod(file, 0o644);
}

/** @returns undefined when the owner's directory is gone. @throws when the record is damaged. */
export async function readOwnerRecord(directory: string): Promise<OwnerRecord | undefined> {
  const text = await readFile(path.join(directory, RECORD), 'utf8').catch(ignoreMissing);
  return text === undefined ? undefined : recordSchema.parse(JSON.parse(text));
}

/** Whether the owner can be running. An owner that cannot be judged from here, in another pid namespace, counts as running. */
export async function mayBeRunning(owner: OwnerProcess): Promise<boolean> {
  const self = await identifyThisProcess();
  if (owner.bootId !== self.bootId) return false;
  if (owner.pidNamespace !== self.pidNamespace) return true;
  return (await readStartTime(owner.pid)) === owner.startTime;
}

/** Whether a process that may be on any machine runs, as far as this process can see. */
export async function locateProcess(owner: OwnerProcess): Promise<'running' | 'gone' | 'elsewhere'> {
  const self = await identifyThisProcess();
  if (owner.bootId !== self.bootId || owner.pidNamespace !== self.pidNamespace) return 'elsewhere';
  return (await readStartTime(owner.pid)) === owner.startTime ? 'running' : 'gone';
}

/** Removes half-made owner directories whose maker is gone. */
export async function sweepStarting(stateDir: string): Promise<void> {
  for (const name of await listDirectoryNames(getSandboxesDirectory(stateDir))) {
    const [pid, startTime] = name.startsWith(STARTING) ? name.slice(STARTING.length).split('-') : [];
    if (pid === undefined || (await readStartTime(Number(pid))) === startTime) continue;
    await rm(path.join(getSandboxesDirectory(stateDir), name), { recursive: true, force: true });
  }
}

export async function identifyThisProcess(): Promise<OwnerProcess> {
  const [startTime, bootId, pidNamespace] = await Promise.all([
    readStartTime(process.pid),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid'),
  ]);
  return { pid: process.pid, startTime: startTime ?? '', bootId: bootId.trim(), pidNamespace };
}
