import type { Clock } from '../../../kernel/clock.ts';
import type { Cluster } from './cluster.ts';
import { FollowedObject } from './followed-object.ts';
import type { ObjectWatch } from './object-watch.ts';
import { podState, type PodState, type PodView } from './pod-view.ts';

export type FollowedPod = FollowedObject<PodView, PodState>;

export function followPod(name: string, cluster: Cluster, watch: ObjectWatch<PodView>, clock: Clock): FollowedPod {
  return new FollowedObject(name, { watch, clock, stateOf: podState, get: (pod, signal) => cluster.pod(pod, signal) });
}
