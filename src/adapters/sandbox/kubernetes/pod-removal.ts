import type { Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Cluster } from './cluster.ts';
import type { FollowedPod } from './followed-pod.ts';

/** A node that has not said by then that the pod is gone cannot say it, and its record is taken away without it. */
const FORCE_MS = 20_000;
/** By then a request that takes the record away has had all of its attempts, also where a hundred pods end together on a busy cluster. */
const GIVE_UP_MS = FORCE_MS + 60_000;

/**
 * Resolves when the node of a pod that is being deleted has said that nothing is left of it, or the node is lost.
 *
 * @throws InfrastructureError when neither comes to pass.
 */
export async function untilGone(followed: FollowedPod, cluster: Cluster, clock: Clock): Promise<void> {
  const late = (): Error => new InfrastructureError('sandbox.not-gone', `the pod ${followed.name} was not gone in time`);
  using deadline = new Deadline(clock, GIVE_UP_MS, late);
  const since = clock.now();
  // Of a pod that was never heard of nothing will be heard.
  if (followed.state.kind === 'unseen') await followed.ask(deadline.signal);
  let isForced = false;
  while (!isGone(followed)) {
    await followed.change(deadline.signal);
    if (isForced || isGone(followed) || clock.now() - since < FORCE_MS) continue;
    isForced = true;
    await cluster.deletePod(followed.name, 0, deadline.signal);
    await followed.ask(deadline.signal);
  }
}

/** Asked anew each time: it changes while one waits. */
export function isGone(followed: FollowedPod): boolean {
  return followed.state.kind === 'gone';
}
