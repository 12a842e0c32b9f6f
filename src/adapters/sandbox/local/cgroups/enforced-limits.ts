import { InputError } from '../../../../kernel/errors.ts';
import type { LimitEnforcement, LimitName, SandboxTemplate } from '../../../../pool/ports/template.ts';
import type { CgroupLayout, CgroupLimit } from './cgroup-layout.ts';
import type { Finding } from '../../finding.ts';

export type EnforcedLimits = Readonly<Record<LimitName, LimitEnforcement>>;

/** @returns undefined when no control group enforces the limit here. */
export function describeGroupEnforcement(layout: CgroupLayout | undefined, limit: CgroupLimit): LimitEnforcement | undefined {
  return layout?.bases.has(limit) === true ? { scope: 'tree', by: layout.version } : undefined;
}

/** Describes how a local sandbox's limits are enforced. @param processes what counts them, which depends on the kernel. */
export function describeEnforcedLimits(layout: CgroupLayout | undefined, processes: LimitEnforcement): EnforcedLimits {
  return {
    memory: describeGroupEnforcement(layout, 'memory') ?? { scope: 'process', by: 'rlimit' },
    processes,
    cpu: describeGroupEnforcement(layout, 'cpu') ?? { scope: 'none', by: 'none' },
    disk: { scope: 'tree', by: 'tmpfs' },
    lifetime: { scope: 'tree', by: 'timer' },
  };
}

/**
 * Computes the writable memory that a process may allocate, touched or not. An allocation far beyond the sandbox's limit fails at once, with an error
 * that names the code: otherwise the kernel would let it be filled up to the limit, which takes long, and then kill the process without a message.
 * Libraries allocate much that they never touch, above all for threads; the limit allows for that.
 */
export function computeDataBytes(memoryBytes: number): number {
  return 2 * memoryBytes + 2 * 2 ** 30;
}

/** @throws InputError `template.limit-unavailable` for a demand that is not met. */
export function requireDemands({ name, demands }: SandboxTemplate, limits: EnforcedLimits, cgroups: Finding): void {
  for (const demand of demands) {
    const { scope, by } = limits[demand];
    if (scope === 'tree') continue;
    const state = scope === 'none' ? 'not enforced at all' : `enforced by ${by} for each process only`;
    const remedy = cgroups.state === 'missing' ? `${cgroups.detail}; ${cgroups.remedy}, or drop the demand` : 'drop the demand';
    const problem = `demands the limit "${demand}" for the whole process tree, but here it is ${state}`;
    throw new InputError('template.limit-unavailable', `template "${name}" ${problem}; ${remedy}`);
  }
}
