import { sleep, type Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { parseOwnerId, parseSandboxId, type OwnerId, type SandboxId } from '../../../kernel/ids.ts';
import { getLabels, type AgentSandbox, type Plural } from './claims/agent-sandbox.ts';
import type { Cluster } from './cluster/cluster.ts';
import { deleteLease, listOwners } from './pods/owner-lease.ts';
import { MANAGED_SELECTOR, OWNER, formatOwnerSelector, SANDBOX } from './cluster/pod-labels.ts';
import { GRACE_SECONDS } from './pods/pod-manifest.ts';

/** Nodes that are up are rid of hundreds of pods within it. */
const GONE_MS = 60_000;
const LOOK_MS = 200;

type Labels = Readonly<Record<string, string>>;

/** Objects of one kind with their owner's name. */
export interface Orphans {
  /** The noun for messages, such as "pods" in "the pods of x". */
  readonly what: string;
  readonly list: (labelSelector: string, signal: AbortSignal) => Promise<readonly Labels[]>;
  readonly deleteAll: (labelSelector: string, signal: AbortSignal) => Promise<void>;
}

/** Lists what owners may leave in a namespace, in the order of its removal. @param claims left out where nothing is claimed. */
export function createOrphanKinds(cluster: Cluster, claims: AgentSandbox | undefined): readonly Orphans[] {
  const pods: Orphans = {
    what: 'pods',
    list: async (selector, signal) => (await cluster.listPods(selector, signal)).items.map(({ metadata }) => metadata.labels),
    deleteAll: (selector, signal) => cluster.deletePods(selector, GRACE_SECONDS, signal),
  };
  if (!claims) return [pods];
  const plurals: readonly Plural[] = ['sandboxclaims', 'sandboxwarmpools', 'sandboxtemplates'];
  return [pods, ...plurals.map((plural) => createOrphans(claims, plural))];
}

function createOrphans(api: AgentSandbox, plural: Plural): Orphans {
  return {
    what: plural,
    list: async (selector, signal) => (await api.list(plural, getLabels, selector, signal)).items,
    deleteAll: (selector, signal) => api.deleteAll(plural, selector, signal),
  };
}

/**
 * Deletes the objects of dead owners: those with an expired lease, or with no lease at all. Objects are listed before leases, so that the maker of
 * each of them has had its lease by then.
 *
 * @returns whose sandboxes were deleted.
 */
export async function sweepOrphans(
  cluster: Cluster,
  kinds: readonly Orphans[],
  self: OwnerId,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly SandboxId[]> {
  const found = await Promise.all(kinds.map(async (kind) => ({ kind, labels: await kind.list(MANAGED_SELECTOR, signal) })));
  const known = await listOwners(cluster, signal);
  const named = new Set([...found.flatMap(({ labels }) => labels.flatMap((label) => label[OWNER] ?? [])), ...known.keys()]);
  const swept: SandboxId[] = [];
  for (const owner of named) {
    if (owner === self || known.get(owner) === 'alive') continue;
    for (const { kind, labels } of found) {
      const orphans = labels.filter((label) => label[OWNER] === owner);
      if (orphans.length > 0) await removeAll(kind, parseOwnerId(owner), clock, signal);
      swept.push(...orphans.flatMap((label) => getId(label[SANDBOX])));
    }
    // The lease is deleted last, so that the next sweep finds everything that could not be removed.
    await deleteLease(cluster, owner, signal);
  }
  return swept;
}

async function removeAll({ what, list, deleteAll }: Orphans, owner: OwnerId, clock: Clock, signal: AbortSignal): Promise<void> {
  const createTimeoutError = (): Error =>
    new InfrastructureError('sandbox.sweep', `the ${what} of ${owner} were not gone within ${GONE_MS / 1000} s`);
  using deadline = new Deadline(clock, GONE_MS, createTimeoutError, signal);
  const selector = formatOwnerSelector(owner);
  await deleteAll(selector, deadline.signal);
  while ((await list(selector, deadline.signal)).length > 0) await sleep(clock, LOOK_MS, deadline.signal);
}

function getId(label: string | undefined): readonly SandboxId[] {
  try {
    return label === undefined ? [] : [parseSandboxId(label)];
  } catch {
    return [];
  }
}
