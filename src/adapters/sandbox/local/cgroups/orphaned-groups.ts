import { readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../../../kernel/clock.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import type { CgroupLayout } from './cgroup-layout.ts';
import { hasErrno } from '../../../../kernel/errno.ts';
import { removeOwnerGroups } from './owner-cgroups.ts';

/** Owners are called by their process id, as its pid namespace has it, and something random. */
const OWNER = /^[a-z]+-(\d+)-[0-9a-f]{8}$/;
/** Inode of the machine's first pid namespace, in which all of its processes are visible: PROC_PID_INIT_INO of linux/proc_ns.h. */
const FIRST_PID_NAMESPACE = 'pid:[4026531836]';

export interface OrphanContext {
  readonly layout: CgroupLayout;
  readonly files: CgroupFiles;
  /** Owners with records in the state directory: a sweep of that directory knows more about them. */
  readonly recorded: ReadonlySet<string>;
  readonly clock: Clock;
}

/**
 * Removes the control groups of Musters whose state directory is gone, with its records: it was deleted, or it was a
 * test's or a benchmark's. Thousands of them slow a machine down.
 *
 * An owner counts as gone when no process of the machine has its id in any pid namespace. Where not all processes are visible, in a
 * container, that cannot be known, and nothing is removed.
 */
export async function removeOrphanedGroups(context: OrphanContext): Promise<void> {
  const { layout, files, recorded, clock } = context;
  const bases = [...new Set([...layout.bases.values(), ...(layout.accounting === undefined ? [] : [layout.accounting])])];
  const found = await Promise.all(bases.map(async (base) => (await files.listChildren(base)).map((name) => path.join(base, name))));
  const suspects = found.flat().filter((group) => OWNER.test(path.basename(group)) && !recorded.has(path.basename(group)));
  if (suspects.length === 0 || (await readlink('/proc/self/ns/pid')) !== FIRST_PID_NAMESPACE) return;
  const taken = await listProcessIds();
  for (const group of suspects) if (!taken.has(OWNER.exec(path.basename(group))?.[1] ?? '')) await remove(group, files, clock);
}

async function remove(group: string, files: CgroupFiles, clock: Clock): Promise<void> {
  try {
    await removeOwnerGroups(files, [group], clock);
  } catch (error) {
    // Another user's group, which that user has to remove.
    if (!hasErrno(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
  }
}

/** Lists the ids of all processes, in every pid namespace that they are in. */
async function listProcessIds(): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    for (const id of (await getStatus(name))
      .match(/^NSpid:(.*)$/m)?.[1]
      ?.trim()
      .split(/\s+/) ?? [name])
      ids.add(id);
  }
  return ids;
}

/** The result is empty when the process has ended meanwhile. */
async function getStatus(pid: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/status`, 'utf8');
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ESRCH')) return '';
    throw error;
  }
}
