import { sleep, type Clock } from '../../kernel/clock.ts';
import { InfrastructureError, messageOf } from '../../kernel/errors.ts';
import { backoffMs } from '../planning/backoff.ts';
import { withTimeout } from '../../kernel/deadline.ts';
import type { Sandbox } from '../ports/sandbox.ts';

/** Removing a sandbox from a busy provider takes seconds; one that takes longer is asked again, which is safe: destroying is idempotent. */
const ATTEMPT_MS = 30_000;
/** A sandbox that cannot be destroyed now is left to the sweep of the next start, rather than holding up the end of this one. */
const ATTEMPTS = 3;

/**
 * Destroys a sandbox, with patience. Never rejects.
 *
 * @returns what is wrong when every attempt failed or took too long.
 */
export async function tearDown(sandbox: Sandbox, clock: Clock): Promise<InfrastructureError | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      await withTimeout(clock, ATTEMPT_MS, sandbox.destroy(), () => new Error(`no answer within ${ATTEMPT_MS / 1000} s`));
      return undefined;
    } catch (error) {
      if (attempt === ATTEMPTS) return notDestroyedError(sandbox, error);
      await sleep(clock, backoffMs(attempt));
    }
  }
}

function notDestroyedError(sandbox: Sandbox, cause: unknown): InfrastructureError {
  return new InfrastructureError(
    'sandbox.not-destroyed',
    `sandbox ${sandbox.id} could not be destroyed in ${ATTEMPTS} attempts, the last one: ${messageOf(cause)}. The next start of Muster sweeps it away`,
    { cause },
  );
}
