import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createAbortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../kernel/ids.ts';
import type { CgroupFiles } from './cgroups/cgroup-files.ts';
import type { CgroupLayout } from './cgroups/cgroup-layout.ts';
import { removeOrphanedGroups } from './cgroups/orphaned-groups.ts';
import { removeOwnerGroups } from './cgroups/owner-cgroups.ts';
import { mayBeRunning, type OwnerRecord, readOwnerRecord, getSandboxesDirectory, sweepStarting } from './owner-record.ts';
import { isFirstOfNamespace, killProcess, listProcesses, readMountedPaths, waitUntilGone } from './host/process-table.ts';
import { listDirectoryNames } from '../../files/path-contents.ts';

export interface SweepContext {
  readonly stateDir: string;
  /** It is undefined where there are no control groups. */
  readonly layout: CgroupLayout | undefined;
  readonly owner: OwnerId;
  readonly files: CgroupFiles;
  readonly clock: Clock;
}

/**
 * Removes what owners that no longer run have left: processes first, so that nothing is added while the rest is removed.
 * Two sweeps at the same time do no harm; both may name the same sandboxes.
 */
export async function sweepOwners(context: SweepContext, signal: AbortSignal): Promise<readonly SandboxId[]> {
  const swept: SandboxId[] = [];
  await sweepStarting(context.stateDir);
  for (const name of await listDirectoryNames(getSandboxesDirectory(context.stateDir))) {
    if (signal.aborted) throw createAbortError(signal);
    const owner = parseName(name, parseOwnerId);
    if (owner !== undefined && owner !== context.owner) swept.push(...(await sweepOwner(context, owner)));
  }
  if (context.layout) await removeOrphanedGroups({ ...context, layout: context.layout, recorded: await listOwners(context) });
  return swept;
}

async function listOwners({ stateDir, owner }: SweepContext): Promise<ReadonlySet<string>> {
  return new Set([owner, ...(await listDirectoryNames(getSandboxesDirectory(stateDir)))]);
}

async function sweepOwner({ stateDir, files, clock }: SweepContext, owner: OwnerId): Promise<readonly SandboxId[]> {
  const directory = path.join(getSandboxesDirectory(stateDir), owner);
  const record = await readRecord(directory);
  if (!record || (await mayBeRunning(record.process))) return [];
  await killSandboxProcesses(directory, clock);
  // The record may name any group; only those with this owner's name are used.
  const groups = record.cgroups.filter((group) => group.endsWith(`/muster/${owner}`));
  await removeOwnerGroups(files, groups, clock);
  const ids = (await listDirectoryNames(directory)).map((name) => parseName(name, parseSandboxId)).filter((id) => id !== undefined);
  await rm(directory, { recursive: true, force: true });
  return ids;
}

async function readRecord(directory: string): Promise<OwnerRecord | undefined> {
  try {
    return await readOwnerRecord(directory);
  } catch (error) {
    const remedy = 'when no Muster runs any more, remove the directory';
    throw new InfrastructureError('sandbox.sweep', `${directory}: the owner's record is damaged: ${getMessage(error)}; ${remedy}`, {
      cause: error,
    });
  }
}

/**
 * Kills what runs the sandboxes of the directory: bubblewrap, runsc, and launchers that will become them, whose command line names something in it,
 * and the first processes of sandboxes that have something of it mounted. Killing them ends everything in their sandboxes. Resolves when they are
 * gone. Other programs that happen to name the directory are left alone.
 */
export async function killSandboxProcesses(directory: string, clock: Clock): Promise<void> {
  await waitUntilGone(`processes of ${directory}`, async () => (await killOnce(directory)) === 0, clock);
}

/** @returns how many were there to be killed. */
async function killOnce(directory: string): Promise<number> {
  const processes = await listProcesses();
  const found = processes.filter(({ argv }) => isBubblewrapOf(directory, argv) || isRunscOf(directory, argv)).map(({ pid }) => pid);
  for (const { pid } of processes) if (await isFirstProcessOf(directory, pid)) found.push(pid);
  for (const pid of found) killProcess(pid);
  return found.length;
}

/**
 * A plain sandbox of root outlives bubblewrap's monitor: the monitor has no privileges when it dies, so the kernel does not let it signal a process
 * of another user. Only the mounts then show which sandbox it is: they contain this owner's directory, wherever the state directory's file system is
 * mounted.
 */
async function isFirstProcessOf(directory: string, pid: number): Promise<boolean> {
  if (!(await isFirstOfNamespace(pid))) return false;
  const shown = `${directory.slice(directory.lastIndexOf('/sandboxes/'))}/`;
  return (await readMountedPaths(pid)).some((mounted) => mounted.includes(shown));
}

function isBubblewrapOf(directory: string, argv: readonly string[]): boolean {
  return argv.includes('--die-with-parent') && argv.some((word) => word.startsWith(`${directory}/`));
}

/** All processes of runsc name its state directory. */
function isRunscOf(directory: string, argv: readonly string[]): boolean {
  return argv.some((word) => word.startsWith(`--root=${directory}/`));
}

function parseName<Name>(text: string, parse: (text: string) => Name): Name | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
