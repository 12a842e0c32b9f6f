import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createAbortError } from '../../../kernel/abort.ts';
import { type OwnerId, parseSandboxId, type SandboxId } from '../../../kernel/ids.ts';
import { mayBeRunning, readOwnerRecord, getSandboxesDirectory, sweepStarting } from '../local/owner-record.ts';
import type { Daemon } from './daemon.ts';
import { formatOwnerLabel, readLabel } from './ownership.ts';
import { REPOSITORY } from './skeleton.ts';
import { listDirectoryNames } from '../../files/path-contents.ts';

/** Removes the containers of owners that no longer run. @returns the ids of their sandboxes. */
export async function sweepContainers(daemon: Daemon, self: OwnerId, signal: AbortSignal): Promise<readonly SandboxId[]> {
  const swept: SandboxId[] = [];
  for (const { Id, Labels } of await daemon.containers(formatOwnerLabel())) {
    if (signal.aborted) throw createAbortError(signal);
    const label = readLabel(Labels);
    if (!label || label.owner === self || (await mayBeRunning(label.process))) continue;
    await daemon.remove(Id);
    swept.push(label.id);
  }
  return swept;
}

/** A skeleton is made again in a fraction of a second when a sandbox needs it. */
const SKELETON_SECONDS = 86_400;

/** Removes the images that Muster has made for workspaces, a day after they were made, unless a container has them. */
export async function sweepSkeletons(daemon: Daemon, now: Date, signal: AbortSignal): Promise<void> {
  for (const image of await daemon.listImages(REPOSITORY, SKELETON_SECONDS, now)) {
    if (signal.aborted) throw createAbortError(signal);
    await daemon.removeImage(image);
  }
}

/** Removes the directories of owners that no longer run: to be called when their containers are gone. */
export async function sweepDirectories(stateDir: string, self: OwnerId, signal: AbortSignal): Promise<readonly SandboxId[]> {
  const swept: SandboxId[] = [];
  await sweepStarting(stateDir);
  for (const owner of await listDirectoryNames(getSandboxesDirectory(stateDir))) {
    if (signal.aborted) throw createAbortError(signal);
    const directory = path.join(getSandboxesDirectory(stateDir), owner);
    const record = owner === self ? undefined : await readOwnerRecord(directory);
    if (!record || (await mayBeRunning(record.process))) continue;
    for (const name of await listDirectoryNames(directory)) if (!name.startsWith('_')) swept.push(parseSandboxId(name));
    await rm(directory, { recursive: true, force: true });
  }
  return swept;
}
