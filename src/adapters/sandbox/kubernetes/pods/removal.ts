import type { Clock } from '../../../../kernel/clock.ts';
import { Deadline } from '../../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';

/** A node that has not reported by then that the pod is gone counts as lost, and Muster removes the pod's record itself. */
const FORCE_MS = 20_000;
/**
 * After this time, a request that removes the record has had all of its attempts, even if a hundred pods end together on a busy cluster.
 */
const FORCED_MS = 60_000;

/** The latest known state of an object that is being deleted. */
export interface Leaving {
  readonly state: { readonly kind: string };
  ask(signal: AbortSignal): Promise<void>;
  change(signal: AbortSignal): Promise<void>;
}

/**
 * Resolves when the node of a pod that is being deleted has reported that nothing of it is left, or the node is lost.
 *
 * @param what for the message. @param force removes what the node keeps. @param forcedMs how long that may take. @throws InfrastructureError
 * `sandbox.not-gone` when neither happens.
 */
export async function waitUntilGone(
  leaving: Leaving,
  what: string,
  force: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
  forcedMs = FORCED_MS,
): Promise<void> {
  const createTimeoutError = (): Error => new InfrastructureError('sandbox.not-gone', `${what} was not gone in time`);
  using deadline = new Deadline(clock, FORCE_MS + forcedMs, createTimeoutError);
  const since = clock.now();
  // No event will come for a pod that no event has named.
  if (leaving.state.kind === 'unseen') await leaving.ask(deadline.signal);
  let isForced = false;
  while (!isGone(leaving)) {
    await leaving.change(deadline.signal);
    if (isForced || isGone(leaving) || clock.now() - since < FORCE_MS) continue;
    isForced = true;
    await force(deadline.signal);
    await leaving.ask(deadline.signal);
  }
}

/** Read each time: it changes during the wait. */
export function isGone({ state }: Pick<Leaving, 'state'>): boolean {
  return state.kind === 'gone';
}
