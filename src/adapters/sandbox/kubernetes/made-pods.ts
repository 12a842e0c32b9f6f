import type { Clock } from '../../../kernel/clock.ts';
import type { OwnerId } from '../../../kernel/ids.ts';
import type { PodTemplate } from '../../../pool/pod-template.ts';
import type { Obstacle, SandboxSpec } from '../../../pool/sandbox.ts';
import type { Cluster } from './cluster.ts';
import { followPod, type FollowedPod } from './followed-pod.ts';
import { GatheredDeletions } from './gathered-deletions.ts';
import { ObjectWatch } from './object-watch.ts';
import { ownerSelector, podName } from './pod-labels.ts';
import type { PodHold } from './pod-line.ts';
import { GRACE_SECONDS, podManifest } from './pod-manifest.ts';
import { untilReady } from './pod-readiness.ts';
import { gathered, type PodSupply, type WantedPod } from './pod-supply.ts';
import { parsePod, type PodView } from './pod-view.ts';
import { podOf } from './preflight.ts';
import { isGone, untilGone } from './removal.ts';

export interface MadePodsOptions {
  readonly cluster: Cluster;
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly log: (message: string) => void;
}

/** Pods that Muster makes itself, and deletes. */
export class MadePods implements PodSupply {
  readonly #options: MadePodsOptions;
  readonly #watch: ObjectWatch<PodView>;
  readonly #deletions: GatheredDeletions;
  readonly #followed = new Map<string, FollowedPod>();

  constructor(options: MadePodsOptions) {
    const { cluster, owner, clock, log } = options;
    this.#options = options;
    this.#deletions = new GatheredDeletions(
      {
        what: 'pods',
        one: (name, signal) => cluster.deletePod(name, GRACE_SECONDS, signal),
        many: (selector, signal) => cluster.deletePods(selector, GRACE_SECONDS, signal),
      },
      owner,
      clock,
    );
    this.#watch = new ObjectWatch({
      config: cluster.config,
      path: cluster.podsPath,
      labelSelector: ownerSelector(owner),
      parse: parsePod,
      list: (selector, signal) => cluster.pods(selector, signal),
      clock,
      log,
      onList: (pods) => this.#deletions.deleteStrays(pods, this.#followed, log),
    });
  }

  get isHolding(): boolean {
    return this.#followed.size > 0;
  }

  want(spec: SandboxSpec, hold: PodHold): WantedPod {
    const { cluster, owner, clock } = this.#options;
    this.#watch.start();
    const followed = followPod(podName(owner, spec.id), cluster, this.#watch, clock);
    this.#followed.set(followed.name, followed);
    return {
      ready: async (signal) => {
        const pod = podOf(spec.template);
        await this.#make(spec, pod, hold, signal);
        await untilReady(followed, pod, clock, signal);
        return followed;
      },
      remove: () => this.#remove(followed, spec),
    };
  }

  obstacles(): readonly Obstacle[] {
    return gathered(Array.from(this.#followed.values(), ({ state }) => (state.kind === 'pending' ? state.obstacle : undefined)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }

  async #make(spec: SandboxSpec, pod: PodTemplate, hold: PodHold, signal: AbortSignal): Promise<void> {
    await this.#options.cluster.createPod(podManifest(this.#options.owner, spec, pod, hold), signal);
  }

  async #remove(followed: FollowedPod, { id }: SandboxSpec): Promise<void> {
    const { cluster, clock } = this.#options;
    if (!isGone(followed)) {
      await this.#deletions.delete(followed.name, id);
      await untilGone(followed, `the pod ${followed.name}`, (signal) => cluster.deletePod(followed.name, 0, signal), clock);
    }
    followed[Symbol.dispose]();
    this.#followed.delete(followed.name);
  }
}
