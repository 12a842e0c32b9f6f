import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { detectHere } from '../src/adapters/sandbox/local/cgroups/cgroups-here.ts';
import { kernelCgroupFiles } from '../src/adapters/sandbox/local/cgroups/cgroup-files.ts';
import { getSandboxesDirectory } from '../src/adapters/sandbox/local/owner-record.ts';
import { descendants } from './process-tree.ts';
import { listDirectoryNames } from '../src/adapters/files/path-contents.ts';

/** What there is of sandboxes on this machine outside of themselves. */
export interface Leftovers {
  readonly processes: number;
  readonly directories: number;
  readonly controlGroups: number;
  readonly mounts: number;
}

/**
 * @param stateDir of the Muster that had the sandboxes; mounts are those of this process's namespace that name it.
 * @param owner how the names of its owners begin.
 */
export async function leftoversOf(stateDir: string, owner: string): Promise<Leftovers> {
  const { layout } = await detectHere(kernelCgroupFiles);
  let controlGroups = 0;
  for (const base of new Set(layout?.bases.values())) {
    for (const group of await listDirectoryNames(base)) {
      if (group.startsWith(owner)) controlGroups += 1 + (await listDirectoryNames(join(base, group))).length;
    }
  }
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.includes(stateDir));
  const sandboxes = getSandboxesDirectory(stateDir);
  const owners = await listDirectoryNames(sandboxes);
  let directories = owners.length;
  for (const one of owners) directories += (await readdir(join(sandboxes, one))).length;
  return { processes: descendants(process.pid).length, directories, controlGroups, mounts: mounts.length };
}

export function isNothing({ processes, directories, controlGroups, mounts }: Leftovers): boolean {
  return processes + directories + controlGroups + mounts === 0;
}

export function showLeftovers({ processes, directories, controlGroups, mounts }: Leftovers): string {
  return `${processes} processes, ${directories} directories, ${controlGroups} control groups, ${mounts} mounts`;
}
