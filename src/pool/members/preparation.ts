import { raceWithAbort } from '../../kernel/abort.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import { Deadline } from '../../kernel/deadline.ts';
import type { SandboxProvider } from '../ports/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../ports/template.ts';

/** The steps before the first sandbox is created. */
export interface Preparation {
  readonly isolation: Isolation;
  /** The number of sandboxes of earlier processes that were removed; each makes room for a new one. */
  readonly swept: number | undefined;
  /** A failed sweep does not stop the work: it leaves sandboxes of other processes behind, never this one's. */
  readonly sweepError: string | undefined;
}

/** Removing hundreds of leftovers takes time; the first sandbox waits at most this long for it. */
const STEP_MS = 60_000;

/** @throws the provider's error when no sandbox of this template can be made; the signal's reason when aborted. */
export async function prepare(
  provider: SandboxProvider,
  template: SandboxTemplate,
  clock: Clock,
  signal: AbortSignal,
): Promise<Preparation> {
  const step = async <T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const createTimeoutError = () =>
      new InfrastructureError('pool.start-timeout', `provider ${provider.name} took over ${STEP_MS / 1000} s to ${name}`);
    using deadline = new Deadline(clock, STEP_MS, createTimeoutError, signal);
    deadline.signal.throwIfAborted();
    return await raceWithAbort(work(deadline.signal), deadline.signal);
  };
  const isolation = await step('describe its sandboxes', () => provider.describe(template));
  try {
    const swept = await step('sweep', (deadline) => provider.sweep(deadline));
    return { isolation, swept: swept.length, sweepError: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { isolation, swept: undefined, sweepError: getMessage(error) };
  }
}
