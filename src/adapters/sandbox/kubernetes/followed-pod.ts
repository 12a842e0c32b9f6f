import type { Clock } from '../../../kernel/clock.ts';
import type { Cluster } from './cluster.ts';
import { FollowedObject } from './followed-object.ts';
import type { ObjectWatch } from './object-watch.ts';
import { podState, type PodState, type PodView } from './pod-view.ts';

/** One pod as it is known to be, from before it is created until it is gone. */
export class FollowedPod extends FollowedObject<PodView, PodState> {
  readonly #seen: { node: string | undefined };

  constructor(name: string, cluster: Cluster, watch: ObjectWatch<PodView>, clock: Clock) {
    const seen: { node: string | undefined } = { node: undefined };
    const stateOf = (pod: PodView): PodState => {
      seen.node = pod.spec.nodeName ?? seen.node;
      return podState(pod);
    };
    super(name, { watch, clock, stateOf, get: (pod, signal) => cluster.pod(pod, signal) });
    this.#seen = seen;
  }

  /** Undefined as long as it is on none. */
  get node(): string | undefined {
    return this.#seen.node;
  }
}

export function followPod(name: string, cluster: Cluster, watch: ObjectWatch<PodView>, clock: Clock): FollowedPod {
  return new FollowedPod(name, cluster, watch, clock);
}
