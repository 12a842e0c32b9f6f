import { setHeaderOptions, PatchStrategy, type V1Lease } from '@kubernetes/client-node';
import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { getMessage } from '../../../../kernel/errors.ts';
import type { OwnerId } from '../../../../kernel/ids.ts';
import { tryParseJson } from '../../../../kernel/json-bounds.ts';
import { processSchema, identifyThisProcess, locateProcess } from '../../local/owner-record.ts';
import { createApiError, isConflict, isNotFound } from '../cluster/api-errors.ts';
import { withSignal, type Cluster } from '../cluster/cluster.ts';
import { MANAGED_BY, MANAGED_SELECTOR, OWNER } from '../cluster/pod-labels.ts';

/** An owner without a sign of life for this long counts as dead, unless its process can be checked. */
const LEASE_SECONDS = 60;
/** Four chances in that time. */
const RENEW_MS = 15_000;
const PROCESS = 'muster.dev/process';

const buildLeaseName = (owner: string): string => `muster-${owner}`;

/** The record of a Muster in the cluster, renewed as long as it lives: a Lease in the pods' namespace. */
export class OwnerLease implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #owner: OwnerId;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #closing = new AbortController();
  #timer: Disposable | undefined;
  #renewal: Promise<void> = Promise.resolve();

  private constructor(cluster: Cluster, owner: OwnerId, clock: Clock, log: (message: string) => void) {
    this.#cluster = cluster;
    this.#owner = owner;
    this.#clock = clock;
    this.#log = log;
  }

  /** Resolves when the record is written: only then may anything be made that a sweep would have to find. */
  static async open(
    cluster: Cluster,
    owner: OwnerId,
    clock: Clock,
    log: (message: string) => void,
    signal: AbortSignal,
  ): Promise<OwnerLease> {
    const lease = new OwnerLease(cluster, owner, clock, log);
    try {
      await lease.#create(signal);
    } catch (error) {
      throw createApiError(error, `take the lease of ${owner}`);
    }
    lease.#schedule();
    return lease;
  }

  /** Takes the record away. Not to be done while there is anything left of the owner's. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#timer?.[Symbol.dispose]();
    await this.#renewal;
    await deleteLease(this.#cluster, this.#owner, new AbortController().signal);
  }

  /** Lets go of it without taking it away, for the sweep of the next Muster to find. */
  abandon(): void {
    this.#closing.abort();
    this.#timer?.[Symbol.dispose]();
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { namespace } = this.#cluster;
    const record = JSON.stringify(await identifyThisProcess());
    const body: V1Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: buildLeaseName(this.#owner),
        namespace,
        labels: { [MANAGED_BY]: 'muster', [OWNER]: this.#owner },
        annotations: { [PROCESS]: record },
      },
      spec: { holderIdentity: this.#owner, leaseDurationSeconds: LEASE_SECONDS },
    };
    await this.#cluster.gate.request(`create the lease ${buildLeaseName(this.#owner)}`, signal, async (attemptSignal) => {
      try {
        await this.#cluster.coordination.createNamespacedLease({ namespace, body }, withSignal(attemptSignal));
      } catch (error) {
        // An attempt whose answer was lost: no other owner has this name.
        if (!isConflict(error)) throw error;
      }
    });
    await this.#renew();
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = this.#clock.after(RENEW_MS, () => {
      this.#renewal = this.#renewOrLog().then(() => this.#schedule());
    });
  }

  async #renewOrLog(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#log(`the lease of ${this.#owner} could not be renewed: ${getMessage(error)}`);
      // It was deleted: any Muster may sweep pods without one.
      if (isNotFound(error)) await this.#create(this.#closing.signal).catch(() => undefined);
    }
  }

  async #renew(): Promise<void> {
    const { namespace, gate, coordination } = this.#cluster;
    const body = { spec: { renewTime: this.#clock.date().toISOString().replace('Z', '000Z') } };
    await gate.requestRaw(`renew the lease ${buildLeaseName(this.#owner)}`, this.#closing.signal, (signal) =>
      coordination.patchNamespacedLease(
        { name: buildLeaseName(this.#owner), namespace, body },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch, withSignal(signal)),
      ),
    );
  }
}

export async function deleteLease(cluster: Cluster, owner: string, signal: AbortSignal): Promise<void> {
  const name = buildLeaseName(owner);
  await cluster.gate.request(`delete the lease ${name}`, signal, async (attemptSignal) => {
    try {
      await cluster.coordination.deleteNamespacedLease({ name, namespace: cluster.namespace }, withSignal(attemptSignal));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  });
}

const moment = z.union([z.date(), z.string()]).transform((value) => new Date(value).getTime());
const leaseSchema = z.object({
  metadata: z.object({
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
    creationTimestamp: moment.optional(),
    managedFields: z.array(z.object({ time: moment.optional() })).default([]),
  }),
  spec: z.object({ leaseDurationSeconds: z.number().default(LEASE_SECONDS) }).prefault({}),
});
type LeaseView = z.infer<typeof leaseSchema>;

/**
 * Lists owners with a lease, by whether they are alive. All times are the API server's: of its last change and of its answer, so no other clock has
 * to be right.
 */
export async function listOwners(cluster: Cluster, signal: AbortSignal): Promise<ReadonlyMap<string, 'alive' | 'dead'>> {
  let serverTime = Number.NaN;
  const leases = await cluster.gate.request('list the leases', signal, (attemptSignal) =>
    cluster.coordination.listNamespacedLease(
      { namespace: cluster.namespace, labelSelector: MANAGED_SELECTOR },
      withSignal(attemptSignal, (headers) => (serverTime = Date.parse(headers['date'] ?? ''))),
    ),
  );
  const found = new Map<string, 'alive' | 'dead'>();
  for (const item of leases.items) {
    const lease = leaseSchema.parse(item);
    const owner = lease.metadata.labels[OWNER];
    if (owner !== undefined) found.set(owner, await judge(lease, serverTime));
  }
  return found;
}

async function judge(lease: LeaseView, serverTime: number): Promise<'alive' | 'dead'> {
  const { annotations, managedFields, creationTimestamp } = lease.metadata;
  const record = processSchema.safeParse(tryParseJson(annotations[PROCESS] ?? ''));
  const whereabouts = record.success ? await locateProcess(record.data) : 'elsewhere';
  if (whereabouts !== 'elsewhere') return whereabouts === 'running' ? 'alive' : 'dead';
  const touched = Math.max(creationTimestamp ?? 0, ...managedFields.map(({ time }) => time ?? 0));
  return serverTime - touched > lease.spec.leaseDurationSeconds * 1000 ? 'dead' : 'alive';
}
