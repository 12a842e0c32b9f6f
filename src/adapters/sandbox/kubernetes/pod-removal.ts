import type { Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Cluster } from './cluster.ts';
import type { FollowedPod } from './followed-pod.ts';

/** The containers end at once when they are told to: this is for a node that is slow to tell them. */
export const GRACE_SECONDS = 1;
/** A node that has not said by then that the pod is gone cannot say it, and its record is taken away without it. */
const FORCE_MS = 20_000;
const GIVE_UP_MS = 25_000;

/**
 * Deletes the pod and resolves when its node has said that nothing is left of it, or the node is lost.
 *
 * @throws InfrastructureError when the API server does not let it be deleted.
 */
export async function removePod(followed: FollowedPod, cluster: Cluster, clock: Clock, isDeleted: boolean): Promise<void> {
  if (followed.state.kind === 'gone') return;
  const late = (): Error => new InfrastructureError('sandbox.not-gone', `the pod ${followed.name} was not gone in time`);
  using deadline = new Deadline(clock, GIVE_UP_MS, late);
  const since = clock.now();
  if (!isDeleted) await cluster.deletePod(followed.name, GRACE_SECONDS, deadline.signal);
  // Of a pod that was never heard of nothing will be heard.
  if (followed.state.kind === 'unseen') await followed.ask(deadline.signal);
  let isForced = false;
  while (!isGone(followed)) {
    await followed.change(deadline.signal);
    if (isForced || isGone(followed) || clock.now() - since < FORCE_MS) continue;
    isForced = true;
    await cluster.deletePod(followed.name, 0, deadline.signal);
  }
}

/** Asked anew each time: it changes while one waits. */
function isGone(followed: FollowedPod): boolean {
  return followed.state.kind === 'gone';
}
