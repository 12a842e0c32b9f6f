import { mkdir } from 'node:fs/promises';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { OwnerCgroups } from './cgroups/owner-cgroups.ts';
import type { SandboxCgroup } from './cgroups/sandbox-cgroup.ts';
import { createCreationError } from './creation-errors.ts';
import type { DescriptorCover } from './host/inherited-descriptors.ts';
import type { Inbox } from './inbox.ts';
import type { OpenRuntime, SandboxSite } from './local-runtime.ts';

/** What all sandboxes of one provider share. */
export interface Runtime {
  readonly cgroups: OwnerCgroups | undefined;
  readonly covered: DescriptorCover;
  readonly runtime: OpenRuntime;
}

/** The directory, inbox and control group of one sandbox. When its start fails, all of them are removed. */
export interface Site {
  readonly id: SandboxId;
  readonly audience: string | undefined;
  readonly directory: string;
  readonly inbox: Inbox;
  cgroup?: SandboxCgroup;
}

/** Makes the directory, which records the intent: from here on a sweep finds everything that has been made for the sandbox. */
export async function makeSiteDirectory(directory: string, id: SandboxId): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    throw createCreationError(error, `${directory}: sandbox "${id}"`);
  }
}

export async function prepareSite(site: Site, template: SandboxTemplate, { cgroups, runtime }: Runtime): Promise<void> {
  await site.inbox.open();
  const made = runtime.makesCgroup?.(template) !== true;
  const limits = { ...template.limits, processes: runtime.countHostProcesses(template) };
  const cgroup = made ? await cgroups?.create(site.id, limits) : cgroups?.getCgroup(site.id);
  if (cgroup) site.cgroup = cgroup;
}

export function toSandboxSite({ id, audience, directory, inbox, cgroup }: Site): SandboxSite {
  return { id, audience, directory, inbox: inbox.directory, cgroup };
}
