import { sleep, type Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { parseOwnerId, parseSandboxId, type OwnerId, type SandboxId } from '../../../kernel/ids.ts';
import type { Cluster } from './cluster.ts';
import { deleteLease, owners } from './owner-lease.ts';
import { MANAGED_SELECTOR, OWNER, ownerSelector, SANDBOX } from './pod-labels.ts';
import { GRACE_SECONDS } from './pod-deletions.ts';

/** Nodes that are up are rid of hundreds of pods within it. */
const GONE_MS = 60_000;
const LOOK_MS = 200;

/**
 * Deletes the pods of owners that are dead: that have a lease and no life, or no lease at all. Pods are listed before leases, so that
 * whoever made one of them has had its lease by then.
 *
 * @returns whose pods were deleted.
 */
export async function sweepOrphans(cluster: Cluster, self: OwnerId, clock: Clock, signal: AbortSignal): Promise<readonly SandboxId[]> {
  const { pods } = await cluster.pods(MANAGED_SELECTOR, signal);
  const known = await owners(cluster, signal);
  const named = new Set([...pods.flatMap(({ metadata }) => metadata.labels[OWNER] ?? []), ...known.keys()]);
  const swept: SandboxId[] = [];
  for (const owner of named) {
    if (owner === self || known.get(owner) === 'alive') continue;
    const orphans = pods.filter(({ metadata }) => metadata.labels[OWNER] === owner);
    if (orphans.length > 0) await removePods(cluster, parseOwnerId(owner), clock, signal);
    swept.push(...orphans.flatMap(({ metadata }) => idOf(metadata.labels[SANDBOX])));
    // Last, so that what could not be removed is found by the next sweep.
    await deleteLease(cluster, owner, signal);
  }
  return swept;
}

async function removePods(cluster: Cluster, owner: OwnerId, clock: Clock, signal: AbortSignal): Promise<void> {
  const late = (): Error => new InfrastructureError('sandbox.sweep', `the pods of ${owner} were not gone within ${GONE_MS / 1000} s`);
  using deadline = new Deadline(clock, GONE_MS, late, signal);
  const selector = ownerSelector(owner);
  await cluster.deletePods(selector, GRACE_SECONDS, deadline.signal);
  while ((await cluster.pods(selector, deadline.signal)).pods.length > 0) await sleep(clock, LOOK_MS, deadline.signal);
}

function idOf(label: string | undefined): readonly SandboxId[] {
  try {
    return label === undefined ? [] : [parseSandboxId(label)];
  } catch {
    return [];
  }
}
