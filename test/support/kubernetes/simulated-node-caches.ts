import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { objectSchema, Refusal } from './api-objects.ts';
import type { ObjectStore } from './object-store.ts';
import type { Executed, PodNode, SimulatedImage } from './simulated-node.ts';

export const CACHE_NAMESPACE = 'muster-node-cache';
/** Where the pods of the caches are kept, apart from those of sandboxes. */
export const CACHE_PODS = 'node-cache-pods';

const DEPLOY = path.join(import.meta.dirname, '../../../deploy/kubernetes/node-cache');
const daemonSetSchema = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        containers: z.array(z.object({ name: z.string(), env: z.array(z.object({ name: z.string(), value: z.string() })) })),
      }),
    }),
  }),
});

/** What a DaemonSet makes of deploy/kubernetes/node-cache: a pod on each node that keeps its cache. */
export class SimulatedNodeCaches {
  readonly #store: ObjectStore;
  readonly #node: PodNode | undefined;
  readonly #nodes: readonly string[];
  readonly #environment = new Map<string, string>();
  #image: SimulatedImage = { mounts: [] };

  constructor(store: ObjectStore, node: PodNode | undefined, nodes: readonly string[]) {
    this.#store = store;
    this.#node = node;
    this.#nodes = nodes;
  }

  /** As `kubectl apply -k` does. @param bytes that each may have, in place of the manifest's. */
  deploy(image: SimulatedImage, bytes?: number): void {
    const { metadata, spec } = daemonSetSchema.parse(parse(readFileSync(path.join(DEPLOY, 'daemon-set.yaml'), 'utf8'))).spec.template;
    for (const { name, value } of spec.containers.flatMap(({ env }) => env)) this.#environment.set(name, value);
    if (bytes !== undefined) this.#environment.set('MUSTER_NODE_CACHE_BYTES', String(bytes));
    this.#image = image;
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: CACHE_NAMESPACE } };
    this.#store.create('persistentvolumeclaims', objectSchema.parse(claim));
    for (const nodeName of this.#nodes) {
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: podOf(nodeName), labels: metadata.labels }, spec: { nodeName } };
      this.#store.create(CACHE_PODS, objectSchema.parse({ ...pod, status: { phase: 'Running' } }));
    }
  }

  /** The node has none any more. */
  remove(nodeName: string): void {
    this.#store.remove(CACHE_PODS, podOf(nodeName));
  }

  /** @throws Refusal (404) */
  async exec(pod: string, command: readonly string[]): Promise<Executed> {
    const nodeName = this.#nodes.find((name) => podOf(name) === pod);
    this.#store.get(CACHE_PODS, pod);
    if (!this.#node || nodeName === undefined) throw new Refusal(500, 'InternalError', 'error dialing backend: this cluster runs nothing');
    return await this.#node.runCache(nodeName, command, this.#image, Object.fromEntries(this.#environment));
  }
}

function podOf(nodeName: string): string {
  return `muster-node-cache-${nodeName}`;
}
