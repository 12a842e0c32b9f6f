import path from 'node:path';
import type { Clock } from '../../../../kernel/clock.ts';
import type { OwnerId, SandboxId } from '../../../../kernel/ids.ts';
import type { SandboxLimits } from '../../../../pool/ports/template.ts';
import { CgroupAccounts } from './cgroup-accounts.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import { type CgroupLayout, type CgroupLimit, delegateControllers, makeGroup, removeUnused } from './cgroup-layout.ts';
import { hasErrno } from '../../../../kernel/errno.ts';
import { type LimitFile, listLimitSettings, removeGroup, SandboxCgroup } from './sandbox-cgroup.ts';

/** Another Muster that ends at the same moment may remove the shared base between the two steps of making ours. */
const OPEN_ATTEMPTS = 5;

/** The limits of a sandbox in one hierarchy. */
export interface HierarchyLimits {
  /** Holds the groups of all sandboxes. */
  readonly directory: string;
  /** The files to write in the group, in this order. */
  readonly files: readonly LimitFile[];
}

/** The control groups of one Muster: `<base>/<owner>/<sandbox>` in each hierarchy. */
export class OwnerCgroups {
  readonly layout: CgroupLayout;
  readonly directories: readonly string[];
  readonly #files: CgroupFiles;
  readonly #owner: OwnerId;
  readonly #clock: Clock;
  readonly #accounts: CgroupAccounts;

  constructor(layout: CgroupLayout, owner: OwnerId, files: CgroupFiles, clock: Clock) {
    this.layout = layout;
    const { bases, accounting } = layout;
    this.directories = [...new Set([...bases.values(), ...(accounting === undefined ? [] : [accounting])])].map((base) =>
      path.join(base, owner),
    );
    this.#files = files;
    this.#owner = owner;
    this.#clock = clock;
    this.#accounts = new CgroupAccounts(files, this.directories);
  }

  async open(): Promise<void> {
    for (const directory of this.directories) await this.#openGroup(directory);
  }

  async #openGroup(directory: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await makeGroup(this.#files, path.dirname(directory));
        if (this.layout.version === 'cgroup-v2') await delegateControllers(this.#files, path.dirname(directory));
        await makeGroup(this.#files, directory);
        if (this.layout.version === 'cgroup-v2') await delegateControllers(this.#files, directory);
        return;
      } catch (error) {
        if (attempt === OPEN_ATTEMPTS || !hasErrno(error, 'ENOENT')) throw error;
      }
    }
  }

  /** Lists the settings of a sandbox's group in each hierarchy, by the directory that holds the group, for a maker other than `create`. */
  listLimitFiles(limits: SandboxLimits): readonly HierarchyLimits[] {
    const settings = listLimitSettings(this.layout.version, limits);
    const inDirectory = (directory: string): readonly LimitFile[] =>
      settings.flatMap(({ limit, files }) => (this.#getDirectory(limit) === directory ? files : []));
    return this.directories.map((directory) => ({ directory, files: inDirectory(directory) }));
  }

  /** Returns a sandbox's group, whether this process or a warden makes it. */
  getCgroup(id: SandboxId): SandboxCgroup {
    const { version, bases } = this.layout;
    const place = {
      version,
      directories: this.directories.map((directory) => path.join(directory, id)),
      of: new Map([...bases.keys()].map((limit) => [limit, path.join(this.#getDirectory(limit) ?? '', id)])),
    };
    return new SandboxCgroup(this.#files, place, this.#accounts);
  }

  #getDirectory(limit: CgroupLimit): string | undefined {
    const base = this.layout.bases.get(limit);
    return base && path.join(base, this.#owner);
  }

  /** Makes a sandbox's group with its limits set, which count all that is in it. A failure leaves nothing behind. */
  async create(id: SandboxId, limits: SandboxLimits): Promise<SandboxCgroup> {
    const cgroup = this.getCgroup(id);
    try {
      await cgroup.make(limits);
      return cgroup;
    } catch (error) {
      await cgroup.remove(this.#clock);
      throw error;
    }
  }

  async close(): Promise<void> {
    await removeOwnerGroups(this.#files, this.directories, this.#clock);
  }
}

/** Kills and removes every group of an owner, whatever made it. */
export async function removeOwnerGroups(files: CgroupFiles, directories: readonly string[], clock: Clock): Promise<void> {
  for (const directory of directories) {
    for (const child of await files.listChildren(directory)) await removeGroup(files, path.join(directory, child), clock);
    await removeGroup(files, directory, clock);
    await removeUnused(files, path.dirname(directory));
  }
}
