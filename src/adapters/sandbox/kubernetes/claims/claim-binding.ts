import { abortError } from '../../../../kernel/abort.ts';
import type { Clock } from '../../../../kernel/clock.ts';
import { InfrastructureError, InputError, type MusterError } from '../../../../kernel/errors.ts';
import type { FollowedObject } from '../followed-object.ts';
import type { ClaimState, ClaimView, ClaimWait } from './claim-view.ts';

export type FollowedClaim = FollowedObject<ClaimView, ClaimState>;

/**
 * Resolves when a sandbox is the claim's.
 *
 * @param waitSeconds for a claim that nothing but time keeps from being bound.
 * @returns the name of the sandbox's pod.
 * @throws InputError `kubernetes.no-warm-pool`, `kubernetes.no-sandbox-template`, `template.refused-by-cluster`; InfrastructureError
 * `sandbox.unclaimed`, `sandbox.claim-expired`, `sandbox.claim-finished`, `sandbox.claim-deleted`.
 */
export async function untilBound(claim: FollowedClaim, waitSeconds: number, clock: Clock, signal: AbortSignal): Promise<string> {
  const since = clock.now();
  for (;;) {
    const { state } = claim;
    if (signal.aborted) throw abortError(signal);
    switch (state.kind) {
      case 'bound':
        return state.pod;
      case 'over':
        throw new InfrastructureError(`sandbox.claim-${state.end}`, `the claim ${claim.name} is over before it was bound: ${state.detail}`);
      case 'gone':
        throw new InfrastructureError('sandbox.claim-deleted', `the claim ${claim.name} was deleted before it was bound`);
      case 'waiting':
        assertPassable(claim.name, state.wait, clock.now() - since, waitSeconds);
        break;
      case 'unseen':
        break;
    }
    await claim.change(signal);
  }
}

function assertPassable(claim: string, wait: ClaimWait, waitedMs: number, waitSeconds: number): void {
  if (wait.kind !== 'unbound' || waitedMs >= waitSeconds * 1000) throw waitError(claim, wait, waitSeconds);
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
