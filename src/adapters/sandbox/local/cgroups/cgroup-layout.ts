import path from 'node:path';
import { getMessage } from '../../../../kernel/errors.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import { hasErrno } from '../../../../kernel/errno.ts';

/** Limits that a control group can enforce. */
export type CgroupLimit = 'memory' | 'processes' | 'cpu';

/** Says where this process may make control groups, and for which limits. */
export interface CgroupLayout {
  readonly version: 'cgroup-v1' | 'cgroup-v2';
  /** Maps each limit that can be enforced to the directory with Muster's groups: one for all in v2, one each in v1. */
  readonly bases: ReadonlyMap<CgroupLimit, string>;
  /** The directory of a v1 hierarchy that counts processor time, if there is one. In v2 every group counts it. */
  readonly accounting?: string;
}

export interface CgroupDetection {
  readonly layout: CgroupLayout | undefined;
  /** Why limits cannot be enforced by a control group; empty when all can. */
  readonly obstacles: readonly string[];
}

export interface CgroupSurroundings {
  readonly files: CgroupFiles;
  /** Text of /proc/self/cgroup. */
  readonly membership: string;
  /** Text of /proc/self/mountinfo. */
  readonly mounts: string;
}

/** Name of the group under which every Muster of this control group has its own. */
const BASE = 'muster';

const V1_CONTROLS = [
  ['memory', 'memory', 'memory.limit_in_bytes'],
  ['processes', 'pids', 'pids.max'],
  ['cpu', 'cpu', 'cpu.cfs_quota_us'],
] as const;

const V2_CONTROLS = [
  ['memory', 'memory.max'],
  ['processes', 'pids.max'],
  ['cpu', 'cpu.max'],
] as const;

/** Detects version 2 where it has been delegated, else version 1 where it is writable, else none. */
export async function detectCgroups(surroundings: CgroupSurroundings): Promise<CgroupDetection> {
  const obstacles: string[] = [];
  const layout = (await detectV2(surroundings, obstacles)) ?? (await detectV1(surroundings, obstacles));
  return { layout, obstacles: layout?.bases.size === V2_CONTROLS.length ? [] : obstacles };
}

interface CgroupMount {
  readonly version: 1 | 2;
  readonly root: string;
  readonly directory: string;
  readonly controllers: readonly string[];
}

/** Parses the format of proc_pid_mountinfo(5). */
function parseMounts(text: string): readonly CgroupMount[] {
  return text.split('\n').flatMap((line): readonly CgroupMount[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '/', directory = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') return [{ version: 2, root, directory, controllers: [] }];
    if (type === 'cgroup') return [{ version: 1, root, directory, controllers: options.split(',') }];
    return [];
  });
}

/** Finds the group that this process is in, as a directory. @param controller '' for version 2. */
function findOwnGroup({ membership }: CgroupSurroundings, mount: CgroupMount, controller: string): string | undefined {
  for (const line of membership.split('\n')) {
    const [, controllers = '', ...rest] = line.split(':');
    if (!controllers.split(',').includes(controller)) continue;
    const group = rest.join(':');
    // In a container, the mount shows only a part of the tree: the groups above it are not visible.
    const inside = mount.root !== '/' && group.startsWith(mount.root) ? group.slice(mount.root.length) : group;
    return path.join(mount.directory, inside);
  }
  return undefined;
}

async function detectV2(surroundings: CgroupSurroundings, obstacles: string[]): Promise<CgroupLayout | undefined> {
  const mount = parseMounts(surroundings.mounts).find(({ version }) => version === 2);
  const own = mount && findOwnGroup(surroundings, mount, '');
  if (!mount || !own) return undefined;
  for (let group = own; ; group = path.dirname(group)) {
    const bases = await probeV2(surroundings.files, group, obstacles);
    if (bases?.has('memory') && bases.has('processes')) return { version: 'cgroup-v2', bases };
    if (group === mount.directory || !group.startsWith(mount.directory)) return undefined;
  }
}

/** Tries what a sandbox's group needs: a child of a child that has the limits' control files. */
async function probeV2(files: CgroupFiles, group: string, obstacles: string[]): Promise<ReadonlyMap<CgroupLimit, string> | undefined> {
  const base = path.join(group, BASE);
  const probe = path.join(base, `_probe-${process.pid}`);
  try {
    await delegateControllers(files, group);
    await makeGroup(files, base);
    await delegateControllers(files, base);
    await makeGroup(files, probe);
    const bases = new Map<CgroupLimit, string>();
    for (const [limit, file] of V2_CONTROLS) if ((await files.read(path.join(probe, file))) !== undefined) bases.set(limit, base);
    if (bases.size < V2_CONTROLS.length) obstacles.push(`${group}: not all of memory, pids and cpu are delegated`);
    return bases;
  } catch (error) {
    obstacles.push(getMessage(error));
    return undefined;
  } finally {
    await removeUnused(files, probe);
    await removeUnused(files, base);
  }
}

/** Enables each controller for child groups, where possible. A group with processes of its own cannot (EBUSY). */
export async function delegateControllers(files: CgroupFiles, group: string): Promise<void> {
  for (const controller of ['memory', 'pids', 'cpu']) {
    try {
      await files.write(path.join(group, 'cgroup.subtree_control'), `+${controller}`);
    } catch (error) {
      // A later check of the children's control files decides: the controller may be enabled already.
      if (!hasErrno(error, 'EBUSY', 'ENOENT', 'EACCES', 'EPERM', 'EROFS', 'EINVAL', 'EOPNOTSUPP')) throw error;
    }
  }
}

async function detectV1(surroundings: CgroupSurroundings, obstacles: string[]): Promise<CgroupLayout | undefined> {
  const mounts = parseMounts(surroundings.mounts);
  const bases = new Map<CgroupLimit, string>();
  for (const [limit, controller, file] of V1_CONTROLS) {
    const mount = mounts.find(({ version, controllers }) => version === 1 && controllers.includes(controller));
    const own = mount && findOwnGroup(surroundings, mount, controller);
    if (!own) obstacles.push(`no version 1 hierarchy has the controller ${controller}`);
    else if (await probeV1(surroundings.files, own, file, obstacles)) bases.set(limit, path.join(own, BASE));
  }
  const accounting = bases.size > 0 ? await detectAccounting(surroundings, mounts) : undefined;
  return bases.size > 0 ? { version: 'cgroup-v1', bases, ...(accounting === undefined ? {} : { accounting }) } : undefined;
}

/** A missing hierarchy is no error. */
async function detectAccounting(surroundings: CgroupSurroundings, mounts: readonly CgroupMount[]): Promise<string | undefined> {
  const mount = mounts.find(({ version, controllers }) => version === 1 && controllers.includes('cpuacct'));
  const own = mount && findOwnGroup(surroundings, mount, 'cpuacct');
  return own !== undefined && (await probeV1(surroundings.files, own, 'cpuacct.usage', [])) ? path.join(own, BASE) : undefined;
}

/** A base that another user's Muster has made exists but may not be writable: only an attempt to make a group in it shows that. */
async function probeV1(files: CgroupFiles, own: string, file: string, obstacles: string[]): Promise<boolean> {
  const base = path.join(own, BASE);
  const probe = path.join(base, `_probe-${process.pid}`);
  try {
    await makeGroup(files, base);
    await makeGroup(files, probe);
    return (await files.read(path.join(probe, file))) !== undefined;
  } catch (error) {
    obstacles.push(getMessage(error));
    return false;
  } finally {
    await removeUnused(files, probe);
    await removeUnused(files, base);
  }
}

/** Makes the group unless it exists. */
export async function makeGroup(files: CgroupFiles, group: string): Promise<void> {
  try {
    await files.makeDirectory(group);
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error;
  }
}

/** Removes an unused group; one that is in use, gone, or of another user stays as it is. */
export async function removeUnused(files: CgroupFiles, group: string): Promise<void> {
  try {
    await files.removeDirectory(group);
  } catch (error) {
    if (!hasErrno(error, 'EBUSY', 'ENOTEMPTY', 'ENOENT', 'EACCES', 'EPERM', 'EROFS')) throw error;
  }
}
