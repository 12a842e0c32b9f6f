import type { Cluster } from '../cluster/cluster.ts';
import type { FollowedObject } from '../cluster/followed-object.ts';
import type { ObjectKind } from '../cluster/object-kind.ts';
import { GRACE_SECONDS } from './pod-manifest.ts';
import { parsePod, readPodState, type PodState, type PodView } from '../cluster/pod-view.ts';

export type FollowedPod = FollowedObject<PodView, PodState>;

export function createPodKind(cluster: Cluster): ObjectKind<PodView, PodState> {
  return {
    what: 'pods',
    path: cluster.podsPath,
    parse: parsePod,
    readState: readPodState,
    list: (selector, signal) => cluster.listPods(selector, signal),
    get: (name, signal) => cluster.findPod(name, signal),
    deleteOne: (name, signal) => cluster.deletePod(name, GRACE_SECONDS, signal),
    deleteMany: (selector, signal) => cluster.deletePods(selector, GRACE_SECONDS, signal),
  };
}
