import type { CustomObjectsApi } from '@kubernetes/client-node';
import { z } from 'zod';
import { isNotFound } from '../cluster/api-errors.ts';
import { withSignal, type Cluster } from '../cluster/cluster.ts';
import { listAll, PAGE, type Listing } from '../cluster/listing.ts';

export const GROUP = 'extensions.agents.x-k8s.io';
export const VERSION = 'v1beta1';
export type Plural = 'sandboxclaims' | 'sandboxwarmpools' | 'sandboxtemplates';

/** An object in one of the three collections. */
export interface Manifest {
  readonly apiVersion: `${typeof GROUP}/${typeof VERSION}`;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: object;
}

/** Owners are removed when nothing of what they own is left: when an object is gone, so are its pods. */
const FOREGROUND = { propagationPolicy: 'Foreground' } as const;

const pageSchema = z.object({
  items: z.array(z.unknown()),
  metadata: z.object({ resourceVersion: z.string().default(''), continue: z.string().optional() }).prefault({}),
});

const labelledSchema = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()).default({}) }) });

/** Returns the labels of any object in these collections. @throws ZodError for something else. */
export function getLabels(object: unknown): Readonly<Record<string, string>> {
  return labelledSchema.parse(object).metadata.labels;
}

/** The collections of SIG agent-sandbox's extensions, in one namespace of one cluster. */
export class AgentSandbox {
  readonly #cluster: Cluster;
  readonly #api: CustomObjectsApi;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#api = cluster.custom;
  }

  getPath(plural: Plural): string {
    return `/apis/${GROUP}/${VERSION}/namespaces/${this.#cluster.namespace}/${plural}`;
  }

  /** Whether the API server knows the collections at all. */
  async isInstalled(signal: AbortSignal): Promise<boolean> {
    return await this.#cluster.gate.request('look for agent-sandbox', signal, async (attemptSignal) => {
      try {
        await this.#api.getAPIResources({ group: GROUP, version: VERSION }, withSignal(attemptSignal));
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    });
  }

  /** See `Cluster.create`. */
  async create(plural: Plural, body: Manifest, signal: AbortSignal): Promise<void> {
    await this.#cluster.create(`the ${body.kind} ${body.metadata.name}`, signal, (attemptSignal) =>
      this.#api.createNamespacedCustomObject({ ...this.#locate(plural), body }, withSignal(attemptSignal)),
    );
  }

  /**
   * Returns undefined when there is none. @param onServerTime receives the API server's clock, in milliseconds since 1970; NaN when it is not stated.
   */
  async get(plural: Plural, name: string, signal: AbortSignal, onServerTime: (time: number) => void = () => {}): Promise<unknown> {
    return await this.#cluster.gate.request(`get ${plural}/${name}`, signal, async (attemptSignal): Promise<unknown> => {
      try {
        const options = withSignal(attemptSignal, ({ date = '' }) => onServerTime(Date.parse(date)));
        return await this.#api.getNamespacedCustomObject({ ...this.#locate(plural), name }, options);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    });
  }

  async list<View>(plural: Plural, parse: (object: unknown) => View, labelSelector: string, signal: AbortSignal): Promise<Listing<View>> {
    return await listAll(async (next) => {
      const request = { ...this.#locate(plural), labelSelector, limit: PAGE, ...(next === undefined ? {} : { _continue: next }) };
      const answer: unknown = await this.#cluster.gate.request(`list the ${plural}`, signal, (attemptSignal) =>
        this.#api.listNamespacedCustomObject(request, withSignal(attemptSignal)),
      );
      const { items, metadata } = pageSchema.parse(answer);
      return { items: items.map(parse), resourceVersion: metadata.resourceVersion, next: metadata.continue };
    });
  }

  /** Has no effect when it is gone. It exists until its sandboxes and their pods are gone. */
  async delete(plural: Plural, name: string, signal: AbortSignal): Promise<void> {
    await this.#cluster.gate.request(`delete ${plural}/${name}`, signal, async (attemptSignal) => {
      try {
        await this.#api.deleteNamespacedCustomObject({ ...this.#locate(plural), name, ...FOREGROUND }, withSignal(attemptSignal));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  }

  async deleteAll(plural: Plural, labelSelector: string, signal: AbortSignal): Promise<void> {
    await this.#cluster.gate.request(`delete the ${plural} of ${labelSelector}`, signal, async (attemptSignal) => {
      const request = { ...this.#locate(plural), labelSelector, ...FOREGROUND };
      await this.#api.deleteCollectionNamespacedCustomObject(request, withSignal(attemptSignal));
    });
  }

  #locate(plural: Plural) {
    return { group: GROUP, version: VERSION, namespace: this.#cluster.namespace, plural };
  }
}
