import { createAbortError } from '../../../../kernel/abort.ts';
import type { Clock } from '../../../../kernel/clock.ts';
import { InfrastructureError, InputError, type MusterError } from '../../../../kernel/errors.ts';
import type { FollowedPod } from '../pods/pod-kind.ts';
import type { FollowedClaim } from './claim-kind.ts';
import type { ClaimWait } from './claim-view.ts';

export interface Patience {
  readonly seconds: number;
  /** The time at which the wait began, by the clock's `now`. */
  readonly since: number;
  readonly clock: Clock;
}

/**
 * Resolves when a sandbox is assigned to the claim.
 *
 * @param patience with a claim that only time keeps from having its pod. @returns the name of the sandbox's pod. @throws InputError
 * `kubernetes.no-warm-pool`, `kubernetes.no-sandbox-template`, `template.refused-by-cluster`; InfrastructureError `sandbox.unclaimed`,
 * `sandbox.claim-expired`, `sandbox.claim-finished`, `sandbox.claim-deleted`.
 */
export async function waitUntilBound(claim: FollowedClaim, patience: Patience, signal: AbortSignal): Promise<string> {
  for (;;) {
    if (signal.aborted) throw createAbortError(signal);
    const pod = findBoundPod(claim, patience);
    if (pod !== undefined) return pod;
    await claim.change(signal);
  }
}

/** Resolves when there is a pod of the claim's sandbox. @throws as `waitUntilBound` does. */
export async function waitUntilPodExists(claim: FollowedClaim, pod: FollowedPod, patience: Patience, signal: AbortSignal): Promise<void> {
  while (pod.state.kind === 'unseen') {
    if (signal.aborted) throw createAbortError(signal);
    findBoundPod(claim, patience);
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const changes = [claim.change(either), pod.change(either)];
    await Promise.race(changes).finally(() => over.abort());
    await Promise.allSettled(changes);
  }
}

/** Returns undefined while it may still succeed. */
function findBoundPod({ name, state }: FollowedClaim, patience: Patience): string | undefined {
  switch (state.kind) {
    case 'bound':
      if (state.trouble) assertPassable(name, state.trouble, patience);
      return state.pod;
    case 'over':
      throw new InfrastructureError(`sandbox.claim-${state.end}`, `the claim ${name} is over before its pod ran: ${state.detail}`);
    case 'gone':
      throw new InfrastructureError('sandbox.claim-deleted', `the claim ${name} was deleted before its pod ran`);
    case 'waiting':
      assertPassable(name, state.wait, patience);
      return undefined;
    case 'unseen':
      return undefined;
  }
}

function assertPassable(claim: string, wait: ClaimWait, { seconds, since, clock }: Patience): void {
  const isOverdue = clock.now() - since >= seconds * 1000;
  if (wait.kind !== 'unbound' || isOverdue) throw waitError(claim, wait, seconds);
}

function waitError(claim: string, { kind, detail }: ClaimWait, waitSeconds: number): MusterError {
  const text = `no sandbox for the claim ${claim} (${detail})`;
  switch (kind) {
    case 'no-warm-pool':
      return new InputError('kubernetes.no-warm-pool', `${text}; set kubernetes.claims.warmPool to a SandboxWarmPool of the namespace`);
    case 'no-template':
      return new InputError(
        'kubernetes.no-sandbox-template',
        `${text}; make the SandboxTemplate that the SandboxWarmPool names, or name another pool`,
      );
    case 'refused':
      return new InputError('template.refused-by-cluster', `${text}; change the SandboxTemplate, which forbids this claim`);
    case 'unbound':
      return new InfrastructureError(
        'sandbox.unclaimed',
        `${text} within ${waitSeconds} s; does agent-sandbox's controller run, and is there room for the pods of the warm pool?`,
      );
  }
}
