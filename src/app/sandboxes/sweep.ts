import { raceWithAbort } from '../../kernel/abort.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { SandboxProvider } from '../../pool/ports/sandbox.ts';

/** Removing hundreds of sandboxes takes a while; only the end of the process waits for it. */
const SWEEP_MILLISECONDS = 60_000;

/** Removes what killed processes have left at a provider. What cannot be removed is logged. @param closing ends it, without a word in the log. */
export async function sweepLeftovers(
  name: string,
  open: () => Promise<SandboxProvider>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  closing: AbortSignal,
): Promise<void> {
  const createTimeoutError = (): Error =>
    new InfrastructureError('sandbox.sweep', `provider ${name} took over ${SWEEP_MILLISECONDS / 1000} s to sweep`);
  using deadline = new Deadline(clock, SWEEP_MILLISECONDS, createTimeoutError, closing);
  try {
    const provider = await open();
    const swept = await raceWithAbort(provider.sweep(deadline.signal), deadline.signal);
    if (swept.length > 0) log.info({ provider: name, sandboxes: swept.length }, 'removed the sandboxes of a Muster that has ended');
  } catch (error) {
    if (!closing.aborted) log.warn({ provider: name, error: getMessage(error) }, 'old sandboxes could not be removed');
  }
}
