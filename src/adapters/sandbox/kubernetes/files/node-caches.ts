import { raceWithAbort } from '../../../../kernel/abort.ts';
import type { Clock } from '../../../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../../../kernel/errors.ts';
import type { FetchOrder } from '../../../../kernel/fetching.ts';
import type { OwnerId } from '../../../../kernel/ids.ts';
import type { NodeCacheTemplate, PodFetching } from '../settings/pod-template.ts';
import { fetchError, holdOrder } from '../../remote/pull-order.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ProgramChannel } from '../exec/program-channel.ts';
import { NODE_CACHE } from '../pods/pod-manifest.ts';
import { runPuller } from './puller.ts';

/** The labels of deploy/kubernetes/node-cache, and its container's name. */
const CACHE_SELECTOR = 'app.kubernetes.io/name=muster-node-cache';
const CACHE_CONTAINER = 'cache';
/** A Muster that is gone keeps nothing on a node for longer. */
const HOLD_SECONDS = 3600;
/** How often the checkpoints of pods are held again, long before the hold expires. */
const RENEW_MS = 900_000;
/** Nodes come and go, and so do the pods of their caches. */
const LOOK_AGAIN_MS = 5_000;

export type CacheExec = (
  namespace: string,
  pod: string,
  container: string,
  command: readonly string[],
  signal: AbortSignal,
) => Promise<ProgramChannel>;

export interface NodeCachesOptions {
  readonly cluster: Cluster;
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly exec: CacheExec;
  readonly log: (message: string) => void;
}

interface CachedFile {
  readonly users: Set<string>;
  readonly order: FetchOrder;
  readonly settings: PodFetching;
  /** Resolves when it is there. */
  readonly filling: Promise<void>;
}

/**
 * The caches of a cluster's nodes, and which checkpoints this Muster has on them. A node fetches a checkpoint once, however many of its
 * pods want it. The program that fetches runs in the cache's own pod, so that nothing on a node accepts connections.
 */
export class NodeCaches implements Disposable {
  readonly #options: NodeCachesOptions;
  /** Cached files by node and digest. */
  readonly #kept = new Map<string, Map<string, CachedFile>>();
  readonly #pods = new Map<string, string>();
  readonly #closing = new AbortController();
  #renewal: Disposable | undefined;
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;

  constructor(options: NodeCachesOptions) {
    this.#options = options;
  }

  /**
   * Has the checkpoint on the node, for this pod until it leaves.
   *
   * @returns the directory as pods see it.
   * @throws InfrastructureError `sandbox.fetch`; the signal's reason.
   */
  async use(node: string, pod: string, order: FetchOrder, settings: PodFetching, signal: AbortSignal): Promise<string> {
    const onNode = this.#kept.get(node) ?? new Map<string, CachedFile>();
    this.#kept.set(node, onNode);
    const kept = onNode.get(order.digest) ?? this.#begin(node, onNode, order, settings);
    kept.users.add(pod);
    // All callers wait for the same copy: the signal only ends this caller's wait.
    await raceWithAbort(kept.filling, signal);
    return `${NODE_CACHE}/checkpoints/${order.digest.slice('sha256:'.length)}`;
  }

  /** The pod uses nothing more of its node. Unused files are released with the next order that the node gets. */
  leave(node: string, pod: string): void {
    for (const { users } of this.#kept.get(node)?.values() ?? []) users.delete(pod);
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    this.#renewal?.[Symbol.dispose]();
  }

  #begin(node: string, onNode: Map<string, CachedFile>, order: FetchOrder, settings: PodFetching): CachedFile {
    const kept: CachedFile = { users: new Set(), order, settings, filling: this.#hold(node, order, settings) };
    onNode.set(order.digest, kept);
    kept.filling.catch(() => onNode.delete(order.digest));
    this.#renewal ??= this.#scheduleRenewal();
    return kept;
  }

  #scheduleRenewal(): Disposable {
    return this.#options.clock.after(RENEW_MS, () => {
      this.#renewal = this.#scheduleRenewal();
      for (const [node, onNode] of this.#kept) for (const kept of onNode.values()) if (kept.users.size > 0) void this.#renew(node, kept);
    });
  }

  /** Never rejects. */
  async #renew(node: string, { order, settings }: CachedFile): Promise<void> {
    try {
      await this.#hold(node, order, settings);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#kept.get(node)?.delete(order.digest);
      this.#options.log(`the cache of the node ${node} no longer holds ${order.digest}: ${getMessage(error)}`);
    }
  }

  async #hold(node: string, order: FetchOrder, { nodeCache, command }: PodFetching): Promise<void> {
    if (!nodeCache) throw fetchError('its template does not say where the nodes have caches');
    const { owner, clock, exec } = this.#options;
    const { signal } = this.#closing;
    const pod = await this.#findCacheOn(node, nodeCache, signal);
    const releases = this.#releaseUnused(node, order.digest);
    const until = Math.ceil(clock.date().getTime() / 1000) + HOLD_SECONDS;
    const run = (words: readonly string[], running: AbortSignal): Promise<ProgramChannel> =>
      exec(nodeCache.namespace, pod, CACHE_CONTAINER, words, running);
    try {
      await runPuller(run, command, holdOrder({ ...order, holder: owner, until, releases }), signal);
    } catch (error) {
      // It may be another pod by now.
      this.#pods.delete(node);
      this.#lookedAt = -Infinity;
      throw error;
    }
  }

  #releaseUnused(node: string, wanted: string): readonly string[] {
    const onNode = this.#kept.get(node);
    const unused = [...(onNode ?? [])].filter(([digest, { users }]) => digest !== wanted && users.size === 0).map(([digest]) => digest);
    for (const digest of unused) onNode?.delete(digest);
    return unused;
  }

  async #findCacheOn(node: string, { namespace }: NodeCacheTemplate, signal: AbortSignal): Promise<string> {
    const { clock } = this.#options;
    if (!this.#pods.has(node) && clock.now() - this.#lookedAt >= LOOK_AGAIN_MS) {
      this.#looking ??= this.#look(namespace, signal).finally(() => (this.#looking = undefined));
      await this.#looking;
    }
    const pod = this.#pods.get(node);
    if (pod !== undefined) return pod;
    throw fetchError(
      `the node ${node} has no cache: no ready pod with the label ${CACHE_SELECTOR} runs there in the namespace "${namespace}"`,
    );
  }

  async #look(namespace: string, signal: AbortSignal): Promise<void> {
    const pods = await this.#options.cluster.listPodsIn(namespace, CACHE_SELECTOR, signal);
    this.#lookedAt = this.#options.clock.now();
    this.#pods.clear();
    for (const { metadata, spec, status } of pods)
      if (spec.nodeName !== undefined && status.phase === 'Running' && metadata.deletionTimestamp === undefined)
        this.#pods.set(spec.nodeName, metadata.name);
  }
}
