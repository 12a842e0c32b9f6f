import type { SandboxLimits, SandboxTemplate } from '../../../pool/ports/template.ts';
import { computeDataBytes } from '../local/cgroups/enforced-limits.ts';
import type { HierarchyLimits, OwnerCgroups } from '../local/cgroups/owner-cgroups.ts';
import type { DescriptorCover } from '../local/host/inherited-descriptors.ts';
import { INSIDE_UID } from '../local/host/inside-identity.ts';
import { OPEN_FILES } from '../local/host/open-files.ts';
import { filterOfThisMachine } from '../local/program/system-call-filter.ts';
import { divideWritableSpace } from '../local/template/writable-space.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { OwnUser } from '../bubblewrap/command/own-user.ts';
import type { WardenSettings } from './warden-messages.ts';

/** What all wardens of one provider share. */
export interface WardenContext {
  readonly bwrap: string;
  readonly system: readonly string[];
  /** Host directory that holds the synthesised files. */
  readonly etc: string;
  /** The owner's directory, with one for each sandbox. */
  readonly directory: string;
  /** The owner's groups, with one for each sandbox. It is undefined where there are none. */
  readonly cgroups: Pick<OwnerCgroups, 'listLimitFiles'> | undefined;
  /** Limits to set for each process, for want of a control group. */
  readonly rlimits: { readonly memory: boolean; readonly processes: boolean };
  readonly covered: DescriptorCover;
  /** It is undefined where sandboxes belong to the user that runs Muster. */
  readonly ownUser: OwnUser | undefined;
  readonly clock: Clock;
}

/** A template from which sandboxes can be forked. */
export type ForkableTemplate = SandboxTemplate & { readonly zygote: NonNullable<SandboxTemplate['zygote']> };

/** A warden inherits a descriptor for each hierarchy of control groups, from this number on. */
export const FIRST_GROUP_DESCRIPTOR = 5;

/** Builds what a warden receives about its template when it starts. */
export function buildWardenSettings(
  { zygote, limits, network, mounts, workspace }: ForkableTemplate,
  { rlimits, ownUser }: Pick<WardenContext, 'rlimits' | 'ownUser'>,
  hierarchies: readonly HierarchyLimits[],
): WardenSettings {
  const { tmpBytes, sharedBytes } = divideWritableSpace(limits, 1 + (workspace?.writable.length ?? 0));
  return {
    imports: zygote.imports,
    limits: {
      tmp_bytes: tmpBytes,
      shm_bytes: sharedBytes,
      data_bytes: computeDataBytes(limits.memoryBytes),
      memory_bytes: rlimits.memory ? limits.memoryBytes : null,
      // The process that holds the walls counts.
      processes: rlimits.processes ? limits.processes + 1 : null,
      open_files: OPEN_FILES,
    },
    mounts_within: listMountsWithin(mounts),
    uid: INSIDE_UID,
    own_user: ownUser !== undefined,
    host_network: network === 'host',
    writable: workspace?.writable ?? null,
    own_root: workspace?.root !== undefined,
    filter: Buffer.from(filterOfThisMachine()).toString('base64'),
    cgroups: hierarchies.map(({ files }, i) => ({
      directory: FIRST_GROUP_DESCRIPTOR + i,
      files: files.map(({ file, value, optional = false }) => ({ file, value, optional })),
    })),
  };
}

/** The first process of a workspace is in the group. Of others only the program is. */
export function computeGroupLimits({ limits, workspace }: ForkableTemplate): SandboxLimits {
  return workspace ? { ...limits, processes: limits.processes + 1 } : limits;
}

/** Lists the mounts that each sandbox's own /tmp and /dev/shm would hide. */
function listMountsWithin(mounts: SandboxTemplate['mounts']): readonly string[] {
  const targets = mounts.map(({ target }) => target);
  return targets.filter((target) => ['/tmp/', '/dev/shm/'].some((own) => target.startsWith(own))).toSorted();
}

/** Returns the environment of the interpreter that a warden runs in. */
export function pickInterpreterEnvironment(environment: SandboxTemplate['environment']): Readonly<Record<string, string>> {
  const others = Object.entries(environment).filter(([name]) => !name.startsWith('PYTHON'));
  return { ...Object.fromEntries(others), PYTHONHASHSEED: '0' };
}
