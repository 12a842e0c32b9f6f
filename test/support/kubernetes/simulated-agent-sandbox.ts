import { randomUUID } from 'node:crypto';
import { claimCondition, conditionsOf, notReady, sandboxConditions, type Condition } from './agent-sandbox-conditions.ts';
import {
  addressedSchema,
  addressesSchema,
  AGENT_SANDBOX_RESOURCES,
  ASSIGNED,
  CLAIM_UID,
  CLAIMS,
  claimSchema,
  NAME_HASH,
  POD_NAME,
  poolSchema,
  SANDBOXES,
  sandboxSchema,
  SCHEMAS,
  SYSTEM,
  TEMPLATE_HASH,
  TEMPLATES,
  templateSchema,
  WARM_POOL,
  WARM_POOLS,
} from './agent-sandbox-objects.ts';
import { objectSchema, Refusal, type KubeObject } from './api-objects.ts';
import { GarbageCollector, ownerReference, ownerUidOf } from './garbage-collector.ts';
import type { ObjectStore } from './object-store.ts';
import { PODS, type SimulatedPods } from './simulated-pods.ts';

/** How long a young claim waits for a warm pod that has no address yet. */
const CANDIDATE_MS = 2_000;
const CANDIDATE_LOOK_MS = 500;

/** SIG agent-sandbox's controllers (v1beta1, with extensions), as far as their objects show what they do. Behind the API of a simulated cluster. */
export class SimulatedAgentSandbox {
  /** Whether the API server knows its collections. */
  isInstalled = true;
  /** Whether its controllers run. */
  isRunning = true;
  readonly #store: ObjectStore;
  readonly #pods: SimulatedPods;
  readonly #now: () => Date;
  readonly #collector: GarbageCollector;
  readonly #stops: (() => void)[];
  #timer: NodeJS.Timeout | undefined;
  #isScheduled = false;

  constructor(store: ObjectStore, pods: SimulatedPods, now: () => Date) {
    this.#store = store;
    this.#pods = pods;
    this.#now = now;
    this.#collector = new GarbageCollector(store, pods);
    this.#stops = [...AGENT_SANDBOX_RESOURCES, PODS, 'networkpolicies'].map((resource) =>
      store.watch(resource, store.version, () => this.look()),
    );
  }

  /** @throws Refusal (422) as the schema of the collection does. */
  create(resource: string, written: KubeObject): KubeObject {
    const parsed = SCHEMAS[resource]?.safeParse(written);
    if (parsed?.success === false)
      throw new Refusal(422, 'Invalid', `${written.kind} "${written.metadata.name}" is invalid: ${parsed.error.message}`);
    return this.#store.create(resource, written);
  }

  delete(resource: string, name: string, isForeground: boolean): KubeObject {
    const object = this.#store.get(resource, name);
    this.#collector.delete(resource, name, isForeground);
    this.look();
    return object;
  }

  /** Has the controllers look soon, as at every event. */
  look(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#reconcile();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.isRunning = false;
    for (const stop of this.#stops) stop();
  }

  #reconcile(): void {
    this.#collector.collect();
    if (!this.isRunning) return;
    for (const template of this.#living(TEMPLATES)) this.#reconcileTemplate(template);
    for (const pool of this.#living(WARM_POOLS)) this.#reconcilePool(pool);
    for (const claim of this.#living(CLAIMS)) this.#reconcileClaim(claim);
    for (const sandbox of this.#living(SANDBOXES)) this.#reconcileSandbox(sandbox);
  }

  #reconcileTemplate(template: KubeObject): void {
    const { name, labels = {} } = template.metadata;
    const hash = nameHash(name);
    if (labels[TEMPLATE_HASH] !== hash) {
      this.#store.change(TEMPLATES, name, (object) => withMetadata(object, { labels: { ...labels, [TEMPLATE_HASH]: hash } }));
    }
    const { networkPolicyManagement, networkPolicy } = templateSchema.parse(template).spec;
    const policy = `${name}-network-policy`;
    if (networkPolicyManagement === 'Unmanaged' || this.#store.find('networkpolicies', policy)) return;
    // What it does of itself allows the whole internet, and forbids the cluster.
    const egress = networkPolicy?.egress ?? [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] }];
    this.#make('networkpolicies', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: policy, ownerReferences: [ownerReference(template)] },
      spec: { podSelector: { matchLabels: { [TEMPLATE_HASH]: hash } }, policyTypes: ['Ingress', 'Egress'], egress },
    });
  }

  #reconcilePool(pool: KubeObject): void {
    const { replicas, sandboxTemplateRef } = poolSchema.parse(pool).spec;
    const template = this.#store.find(TEMPLATES, sandboxTemplateRef.name);
    const members = this.#membersOf(pool);
    for (let missing = template ? replicas - members.length : 0; missing > 0; missing -= 1) {
      const name = `${pool.metadata.name}-${randomUUID().slice(0, 5)}`;
      if (template) this.#makeSandbox(name, template, pool, { [WARM_POOL]: nameHash(pool.metadata.name) });
    }
    for (const { metadata } of members.slice(replicas)) this.#collector.delete(SANDBOXES, metadata.name, false);
    const readyReplicas = members.filter(isReady).length;
    const selector = `${WARM_POOL}=${nameHash(pool.metadata.name)}`;
    this.#status(WARM_POOLS, pool, { replicas: members.length, readyReplicas, selector, observedGeneration: 1 });
  }

  #reconcileClaim(claim: KubeObject): void {
    const { spec, status } = claimSchema.parse(claim);
    if (this.#expire(claim)) return;
    const known = this.#store.find(SANDBOXES, status.sandbox.name);
    const own = known && ownerUidOf(known) === claim.metadata.uid ? known : this.#store.find(SANDBOXES, claim.metadata.name);
    if (own) return this.#mirror(claim, own);
    const pool = this.#store.find(WARM_POOLS, spec.warmPoolRef.name);
    const candidates = pool ? this.#membersOf(pool) : [];
    const candidate = candidates.filter(hasAddress).find(isReady) ?? candidates.find(hasAddress);
    if (candidate) return this.#adopt(claim, candidate);
    if (candidates.length > 0 && this.#isYoung(claim)) return this.#lookLater();
    if (!pool) return this.#condition(claim, notReady('WarmPoolNotFound', `SandboxWarmPool "${spec.warmPoolRef.name}" not found`));
    const reference = poolSchema.parse(pool).spec.sandboxTemplateRef.name;
    const template = this.#store.find(TEMPLATES, reference);
    if (!template) return this.#condition(claim, notReady('TemplateNotFound', `SandboxTemplate "${reference}" not found`));
    this.#mirror(claim, this.#makeSandbox(claim.metadata.name, template, claim, { [CLAIM_UID]: claim.metadata.uid ?? '' }));
  }

  /** @returns whether it is over. */
  #expire(claim: KubeObject): boolean {
    const { shutdownTime, shutdownPolicy = 'Retain', ttlSecondsAfterFinished } = claimSchema.parse(claim).spec.lifecycle ?? {};
    const finished = conditionsOf(claim).find(({ type }) => type === 'Finished');
    const ttl =
      finished && ttlSecondsAfterFinished !== undefined
        ? Date.parse(finished.lastTransitionTime) + ttlSecondsAfterFinished * 1000
        : Infinity;
    const end = Math.min(shutdownTime === undefined ? Infinity : Date.parse(shutdownTime), ttl);
    if (this.#now().getTime() < end) return false;
    this.#condition(claim, notReady('ClaimExpired', 'Claim expired. Sandbox cleanup initiated.'));
    if (shutdownPolicy !== 'Retain') this.#collector.delete(CLAIMS, claim.metadata.name, shutdownPolicy === 'DeleteForeground');
    return true;
  }

  #adopt(claim: KubeObject, { metadata }: KubeObject): void {
    const { labels = {}, annotations = {} } = metadata;
    const { [WARM_POOL]: _pool, ...rest } = labels;
    this.#store.change(CLAIMS, claim.metadata.name, (object) =>
      withMetadata(object, { annotations: { ...object.metadata.annotations, [ASSIGNED]: metadata.name } }),
    );
    this.#store.change(SANDBOXES, metadata.name, (object) =>
      withMetadata(object, {
        labels: { ...rest, [CLAIM_UID]: claim.metadata.uid ?? '' },
        annotations: { ...annotations, [POD_NAME]: metadata.name },
        ownerReferences: [ownerReference(claim)],
      }),
    );
    this.#mirror(claim, this.#store.get(SANDBOXES, metadata.name));
  }

  /** The claim says of itself what its sandbox does. */
  #mirror(claim: KubeObject, sandbox: KubeObject): void {
    const ready = conditionsOf(sandbox).find(({ type }) => type === 'Ready') ?? notReady('SandboxNotReady', 'Sandbox is not ready');
    const finished = conditionsOf(sandbox).filter(({ type }) => type === 'Finished');
    const { podIPs } = addressedSchema.parse(sandbox).status;
    this.#status(CLAIMS, claim, {
      conditions: [...finished, claimCondition(claim, ready, this.#now())],
      sandbox: { name: sandbox.metadata.name, ...(podIPs && { podIPs }) },
    });
  }

  #condition(claim: KubeObject, condition: Condition): void {
    this.#status(CLAIMS, claim, { conditions: [claimCondition(claim, condition, this.#now())] });
  }

  #reconcileSandbox(sandbox: KubeObject): void {
    const { name, labels = {} } = sandbox.metadata;
    const pod = this.#store.find(PODS, name) ?? this.#makePod(sandbox);
    if (pod instanceof Refusal) {
      const condition = claimCondition(sandbox, notReady('ReconcilerError', `Error seen: ${pod.message}`), this.#now());
      return this.#status(SANDBOXES, sandbox, { conditions: [condition] });
    }
    const warm = labels[WARM_POOL];
    if (pod.metadata.labels?.[WARM_POOL] !== warm) {
      const { [WARM_POOL]: _pool, ...rest } = pod.metadata.labels ?? {};
      this.#store.change(PODS, name, (object) => withMetadata(object, { labels: rest }));
    }
    const podIPs = addressesSchema.parse(pod['status'] ?? {}).podIPs.map(({ ip }) => ip);
    this.#status(SANDBOXES, sandbox, { conditions: sandboxConditions(sandbox, pod, this.#now()), ...(podIPs.length > 0 && { podIPs }) });
  }

  /** @returns what the API server says where it refuses the pod. */
  #makePod(sandbox: KubeObject): KubeObject | Refusal {
    try {
      return this.#podOf(sandbox);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  #makeSandbox(name: string, template: KubeObject, owner: KubeObject, labels: Readonly<Record<string, string>>): KubeObject {
    return this.#make(SANDBOXES, {
      apiVersion: 'agents.x-k8s.io/v1beta1',
      kind: 'Sandbox',
      metadata: {
        name,
        labels: { ...labels, [TEMPLATE_HASH]: nameHash(template.metadata.name) },
        annotations: { [`${SYSTEM}sandbox-template-ref`]: template.metadata.name },
        ownerReferences: [ownerReference(owner)],
      },
      spec: { podTemplate: templateSchema.parse(template).spec.podTemplate, operatingMode: 'Running' },
    });
  }

  #podOf(sandbox: KubeObject): KubeObject {
    const { name, labels = {} } = sandbox.metadata;
    const { metadata, spec } = sandboxSchema.parse(sandbox).spec.podTemplate;
    // A template may not set what belongs to the system.
    const own = Object.entries(metadata.labels).filter(([label]) => !label.startsWith(SYSTEM));
    const system = [TEMPLATE_HASH, WARM_POOL].flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]] as const]));
    const pod = this.#pods.create(
      objectSchema.parse({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name,
          labels: { ...Object.fromEntries(own), ...Object.fromEntries(system), [NAME_HASH]: nameHash(name) },
          ownerReferences: [ownerReference(sandbox)],
        },
        spec: { automountServiceAccountToken: false, ...spec },
      }),
    );
    this.#store.change(SANDBOXES, name, (object) =>
      withMetadata(object, { annotations: { ...object.metadata.annotations, [POD_NAME]: name } }),
    );
    return pod;
  }

  #make(resource: string, object: object): KubeObject {
    return this.#store.create(resource, objectSchema.parse(object));
  }

  #membersOf(pool: KubeObject): readonly KubeObject[] {
    return this.#living(SANDBOXES).filter((sandbox) => ownerUidOf(sandbox) === pool.metadata.uid);
  }

  #living(resource: string): readonly KubeObject[] {
    return this.#store.all(resource).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  #isYoung({ metadata }: KubeObject): boolean {
    return this.#now().getTime() - Date.parse(metadata.creationTimestamp ?? '') < CANDIDATE_MS;
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.look(), CANDIDATE_LOOK_MS);
  }

  /** Written only when it says something new: every write is an event. */
  #status(resource: string, { metadata }: KubeObject, status: object): void {
    const before = this.#store.find(resource, metadata.name);
    if (!before || JSON.stringify(before['status']) === JSON.stringify(status)) return;
    this.#store.change(resource, metadata.name, (object) => ({ ...object, status }));
  }
}

function isReady(sandbox: KubeObject): boolean {
  return conditionsOf(sandbox).some(({ type, status }) => type === 'Ready' && status === 'True');
}

function hasAddress(sandbox: KubeObject): boolean {
  return (addressedSchema.parse(sandbox).status.podIPs ?? []).length > 0;
}

function withMetadata(object: KubeObject, changes: object): object {
  return { ...object, metadata: { ...object.metadata, ...changes } };
}

/** FNV-1a of 32 bits, as the controller names things by. */
function nameHash(name: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
