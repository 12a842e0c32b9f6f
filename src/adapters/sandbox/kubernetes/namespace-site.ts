import { untilAborted } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { messageOf } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { PodPlace } from '../../../pool/pod-template.ts';
import type { Obstacle } from '../../../pool/sandbox.ts';
import { Cluster } from './cluster.ts';
import { ExecLine } from './exec-line.ts';
import { FollowedPod } from './followed-pod.ts';
import { Heartbeats } from './heartbeats.ts';
import { sweepOrphans } from './orphan-sweep.ts';
import { OwnerLease } from './owner-lease.ts';
import { ownerSelector, SANDBOX } from './pod-labels.ts';
import { PodDeletions } from './pod-deletions.ts';
import { isGone, untilGone } from './pod-removal.ts';
import type { PodView } from './pod-view.ts';
import { PodWatch } from './pod-watch.ts';

export interface SiteOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly log: (message: string) => void;
}

/** A dead owner on another machine shows as one only when its lease has run out: later than at the start. */
const SWEEP_MS = 120_000;

/** Where pods are: one namespace of one cluster, watched, with this owner's record in it. */
export class NamespaceSite implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly #options: SiteOptions;
  readonly #watch: PodWatch;
  readonly #heartbeats: Heartbeats;
  readonly #deletions: PodDeletions;
  readonly #followed = new Map<string, FollowedPod>();
  readonly #closing = new AbortController();
  #lease: Promise<OwnerLease> | undefined;
  #sweepTimer: Disposable | undefined;
  #sweep: Promise<void> = Promise.resolve();

  constructor(pod: PodPlace, options: SiteOptions) {
    const { owner, clock, log } = options;
    this.#options = options;
    this.cluster = new Cluster(pod, clock);
    this.#heartbeats = new Heartbeats(clock);
    this.#deletions = new PodDeletions(this.cluster, owner, clock);
    const labelSelector = ownerSelector(owner);
    this.#watch = new PodWatch({ cluster: this.cluster, labelSelector, clock, log, onList: (pods) => this.#onList(pods) });
  }

  /** Before the first pod is made, the record stands. Tried again by the next caller when it failed. */
  async open(signal: AbortSignal): Promise<void> {
    const { owner, clock, log } = this.#options;
    this.#lease ??= OwnerLease.open(this.cluster, owner, clock, log, this.#closing.signal).catch((error: unknown) => {
      this.#lease = undefined;
      throw error;
    });
    // It is for all who wait: that one of them is no longer wanted is nothing to the others.
    await untilAborted(this.#lease, signal);
    if (this.#closing.signal.aborted) return;
    this.#watch.start();
    this.#sweepTimer ??= this.#scheduleSweep();
  }

  follow(name: string): FollowedPod {
    const followed = new FollowedPod(name, this.cluster, this.#watch, this.#options.clock);
    this.#followed.set(name, followed);
    return followed;
  }

  /** The way to a pod through the API server. */
  execLine(pod: string): ExecLine {
    return new ExecLine(pod, this.cluster, this.#options.clock, this.#heartbeats);
  }

  /** Resolves when nothing is left of the pod. */
  async remove(followed: FollowedPod, sandbox: SandboxId): Promise<void> {
    if (!isGone(followed)) {
      await this.#deletions.delete(followed.name, sandbox);
      await untilGone(followed, this.cluster, this.#options.clock);
    }
    followed[Symbol.dispose]();
    this.#followed.delete(followed.name);
  }

  /** What pods wait for, those of one kind together. */
  obstacles(): readonly Obstacle[] {
    const found = new Map<string, { kind: string; sandboxes: number; detail: string }>();
    for (const { state } of this.#followed.values()) {
      if (state.kind !== 'pending' || state.obstacle === undefined) continue;
      const { kind, detail } = state.obstacle;
      const known = found.get(kind) ?? { kind, sandboxes: 0, detail };
      known.sandboxes += 1;
      found.set(kind, known);
    }
    return [...found.values()];
  }

  /** The record goes last, so that a sweep finds what could not be removed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('the sandbox provider is closing', 'AbortError'));
    this.#sweepTimer?.[Symbol.dispose]();
    await this.#sweep;
    await this.#watch[Symbol.asyncDispose]();
    const lease = await this.#lease?.catch(() => undefined);
    if (this.#followed.size > 0) lease?.abandon();
    else await lease?.[Symbol.asyncDispose]();
    this.#heartbeats[Symbol.dispose]();
    this.cluster[Symbol.dispose]();
  }

  /** A pod that carries this owner's name and that nobody here knows of was made by a request whose answer was lost. */
  #onList(pods: readonly PodView[]): void {
    const { log } = this.#options;
    const strays = pods.filter(({ metadata }) => !this.#followed.has(metadata.name) && metadata.deletionTimestamp === undefined);
    if (strays.length > 0) log(`${strays.length} pods that nobody knows of are deleted`);
    for (const { metadata } of strays) {
      const deletion = this.#deletions.delete(metadata.name, metadata.labels[SANDBOX] ?? '');
      deletion.catch((error: unknown) => log(messageOf(error)));
    }
  }

  #scheduleSweep(): Disposable {
    return this.#options.clock.after(SWEEP_MS, () => {
      this.#sweep = this.#sweepAndGoOn();
    });
  }

  async #sweepAndGoOn(): Promise<void> {
    await this.#sweepOnce();
    if (!this.#closing.signal.aborted) this.#sweepTimer = this.#scheduleSweep();
  }

  async #sweepOnce(): Promise<void> {
    const { owner, clock, log } = this.#options;
    try {
      const swept = await sweepOrphans(this.cluster, owner, clock, this.#closing.signal);
      if (swept.length > 0) log(`${swept.length} pods of Musters that are gone were deleted`);
    } catch (error) {
      if (!this.#closing.signal.aborted) log(`the sweep failed: ${messageOf(error)}`);
    }
  }
}
