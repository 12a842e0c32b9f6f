import type { Obstacle, SandboxSpec } from '../../../../pool/ports/sandbox.ts';
import { getPod } from './kubernetes-template.ts';
import { OwnedObjects, type Owning } from '../cluster/owned-objects.ts';
import { createPodKind, type FollowedPod } from './pod-kind.ts';
import { namePod } from '../cluster/pod-labels.ts';
import type { PodHold } from '../exec/pod-line.ts';
import { createPodManifest } from './pod-manifest.ts';
import { waitUntilReady } from './pod-readiness.ts';
import { mergeObstacles, type PodSupply, type WantedPod } from './pod-supply.ts';
import type { PodState, PodView } from '../cluster/pod-view.ts';
import { isGone, waitUntilGone } from './removal.ts';

/** Pods that Muster makes itself, and deletes. */
export class MadePods implements PodSupply {
  readonly #options: Owning;
  readonly #pods: OwnedObjects<PodView, PodState>;

  constructor(options: Owning) {
    this.#options = options;
    this.#pods = new OwnedObjects(createPodKind(options.cluster), options);
  }

  get isHolding(): boolean {
    return this.#pods.isHolding;
  }

  want(spec: SandboxSpec, hold: PodHold): WantedPod {
    const pod = this.#pods.follow(namePod(this.#options.owner, spec.id));
    return { takeReadyPod: (signal) => this.#make(pod, spec, hold, signal), remove: () => this.#remove(pod, spec) };
  }

  obstacles(): readonly Obstacle[] {
    return mergeObstacles(Array.from(this.#pods.all, ({ state }) => (state.kind === 'pending' ? state.obstacle : undefined)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pods[Symbol.asyncDispose]();
  }

  async #make(pod: FollowedPod, spec: SandboxSpec, hold: PodHold, signal: AbortSignal): Promise<FollowedPod> {
    const { cluster, owner, clock } = this.#options;
    const template = getPod(spec.template);
    await cluster.createPod(createPodManifest(owner, spec, template, hold), signal);
    await waitUntilReady(pod, template, clock, signal);
    return pod;
  }

  async #remove(pod: FollowedPod, { id }: SandboxSpec): Promise<void> {
    const { cluster, clock } = this.#options;
    if (!isGone(pod)) {
      await this.#pods.delete(pod, id);
      await waitUntilGone(pod, `the pod ${pod.name}`, (signal) => cluster.deletePod(pod.name, 0, signal), clock);
    }
    this.#pods.letGo(pod);
  }
}
