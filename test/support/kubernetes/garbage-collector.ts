import { z } from 'zod';
import type { KubeObject } from './api-objects.ts';
import type { ObjectStore } from './object-store.ts';
import { PODS, type SimulatedPods } from './simulated-pods.ts';

const FOREGROUND = 'foregroundDeletion';
/** In the order in which what is owned is looked for. */
const OWNED = ['sandboxes', 'networkpolicies', PODS] as const;
const OWNERS = ['sandboxtemplates', 'sandboxwarmpools', 'sandboxclaims', 'sandboxes'] as const;

const ownedSchema = z.looseObject({ ownerReferences: z.array(z.looseObject({ uid: z.string() })).default([]) });
const finalizedSchema = z.looseObject({ finalizers: z.array(z.string()).default([]) });
const graceSchema = z.looseObject({ spec: z.looseObject({ terminationGracePeriodSeconds: z.number().default(30) }).prefault({}) });

export function ownerReference({ apiVersion, kind, metadata }: KubeObject): object {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

export function ownerUidOf({ metadata }: KubeObject): string | undefined {
  return ownedSchema.parse(metadata).ownerReferences[0]?.uid;
}

/** The garbage collector of Kubernetes: deletes owned objects once their owner is gone, or before it, where the deletion is in the foreground. */
export class GarbageCollector {
  readonly #store: ObjectStore;
  readonly #pods: SimulatedPods;

  constructor(store: ObjectStore, pods: SimulatedPods) {
    this.#store = store;
    this.#pods = pods;
  }

  /** Does nothing while a deletion is under way. @param isForeground whether it stays until nothing of what it owns is left. */
  delete(resource: string, name: string, isForeground: boolean): void {
    const object = this.#store.find(resource, name);
    if (!object) return;
    if (!isForeground) return this.#store.remove(resource, name);
    if (object.metadata.deletionTimestamp !== undefined) return;
    this.#store.change(resource, name, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, deletionTimestamp: new Date().toISOString(), finalizers: [FOREGROUND] },
    }));
  }

  /** One step: what it deletes makes events, which have it called again. */
  collect(): void {
    for (const resource of OWNERS) for (const owner of this.#store.all(resource)) this.#finish(resource, owner);
    const living = new Set(OWNERS.flatMap((resource) => this.#store.all(resource).map(({ metadata }) => metadata.uid)));
    for (const resource of OWNED) {
      for (const object of this.#store.all(resource)) {
        const owner = ownerUidOf(object);
        if (owner !== undefined && !living.has(owner)) this.#deleteOwned(resource, object, false);
      }
    }
  }

  #finish(resource: string, { metadata }: KubeObject): void {
    if (!finalizedSchema.parse(metadata).finalizers.includes(FOREGROUND)) return;
    const owned = OWNED.flatMap((kind) => this.#store.all(kind).map((object) => [kind, object] as const)).filter(
      ([, object]) => ownerUidOf(object) === metadata.uid,
    );
    if (owned.length === 0) return this.#store.remove(resource, metadata.name);
    for (const [kind, object] of owned) this.#deleteOwned(kind, object, true);
  }

  #deleteOwned(resource: (typeof OWNED)[number], object: KubeObject, isForeground: boolean): void {
    const { name, deletionTimestamp } = object.metadata;
    if (resource !== PODS) return this.delete(resource, name, isForeground && resource === 'sandboxes');
    if (deletionTimestamp === undefined) this.#pods.delete(name, graceSchema.parse(object).spec.terminationGracePeriodSeconds);
  }
}
