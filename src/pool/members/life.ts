import { raceWithAbort } from '../../kernel/abort.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import { Deadline, waitForAbort, withTimeout } from '../../kernel/deadline.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { SandboxId } from '../../kernel/ids.ts';
import { computeBackoffMs } from '../planning/backoff.ts';
import type { Sandbox, SandboxExit, SandboxProvider, SandboxSpec } from '../ports/sandbox.ts';
import type { SandboxTemplate } from '../ports/template.ts';
import type { Occupant } from './occupant.ts';

/** What is needed to create a sandbox. */
export interface Making<Resident> {
  readonly provider: SandboxProvider;
  readonly template: SandboxTemplate;
  readonly clock: Clock;
  readonly readySeconds: number;
  /** Resolves when the sandbox is ready for work. */
  readonly warmUp: (sandbox: Sandbox, signal: AbortSignal) => Promise<Resident>;
}

/** Events in the life of one sandbox, in this order; `failed` replaces those that do not happen. */
export interface LifeEvents<Resident> {
  onCreated(sandbox: Sandbox): void;
  /** Called when the program or the occupant has ended: at any time after `created`, and perhaps more than once. */
  onDied(detail: string): void;
  warm(sandbox: Sandbox, occupant: Resident): void;
  /** Called when the sandbox did not become ready. The listener condemns it. */
  onFailed(error: unknown): void;
  /** Called when nothing is left of the sandbox, or when it was given up, and the error says why. */
  onGone(error: InfrastructureError | undefined): void;
}

/** How long the pool waits for an abandoned creation to end. */
const ABANDON_MS = 30_000;

/**
 * Runs one sandbox from its creation until it is gone. Its life ends only when `condemned` is aborted, whether it became ready or failed.
 * Never rejects.
 */
export async function runSandboxLife<Resident extends Occupant>(
  { id, audience }: Pick<SandboxSpec, 'id' | 'audience'>,
  making: Making<Resident>,
  condemned: AbortSignal,
  events: LifeEvents<Resident>,
): Promise<void> {
  let sandbox: Sandbox | undefined;
  let stuck: InfrastructureError | undefined;
  try {
    using ready = new Deadline(making.clock, making.readySeconds * 1000, () => createNotReadyError(id, making.readySeconds), condemned);
    sandbox = await create({ id, audience, template: making.template }, making, ready.signal);
    events.onCreated(sandbox);
    // Deferred until all promises have settled: a warm-up that fails because the program ended explains more than the exit code.
    void sandbox.exit.then((exit) => process.nextTick(() => events.onDied(formatExit(exit))));
    ready.signal.throwIfAborted();
    const occupant = await raceWithAbort(making.warmUp(sandbox, ready.signal), ready.signal);
    void occupant.gone.then((reason) => events.onDied(reason));
    events.warm(sandbox, occupant);
  } catch (error) {
    if (error instanceof CreationStuckError) stuck = error;
    events.onFailed(error);
  }
  await waitForAbort(condemned);
  events.onGone(sandbox === undefined ? stuck : await tearDown(sandbox, making.clock));
}

class CreationStuckError extends InfrastructureError {}

/** An abandoned creation is still awaited, and the sandbox that it may have made is destroyed. */
async function create(spec: SandboxSpec, { provider, clock }: Making<Occupant>, signal: AbortSignal): Promise<Sandbox> {
  const creation = provider.create(spec, signal);
  try {
    return await raceWithAbort(creation, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const settled = creation.catch(() => undefined);
  const late = await withTimeout(clock, ABANDON_MS, settled, () => createStuckError(spec.id)).catch((error: unknown) => {
    void settled.then((sandbox) => (sandbox === undefined ? undefined : tearDown(sandbox, clock)));
    throw error;
  });
  if (late === undefined) throw signal.reason;
  return late;
}

function formatExit(exit: SandboxExit): string {
  switch (exit.kind) {
    case 'exited':
      return `its program ended with exit code ${exit.code}`;
    case 'out-of-memory':
      return 'its memory limit ended the program; raise limits.memoryBytes of the template if the work needs more';
    case 'lifetime':
      return 'its lifetime passed; raise limits.lifetimeSeconds of the template if the work needs more';
    case 'destroyed':
      return 'it was destroyed';
    case 'lost':
      return exit.detail;
  }
}

function createNotReadyError(id: SandboxId, readySeconds: number): InfrastructureError {
  return new InfrastructureError(
    'sandbox.not-ready',
    `sandbox ${id} was not ready within ${readySeconds} s; raise the pool's "readySeconds" if its program needs longer to start`,
  );
}

function createStuckError(id: SandboxId): CreationStuckError {
  return new CreationStuckError(
    'sandbox.creation-stuck',
    `the creation of sandbox ${id} was abandoned, but did not end within ${ABANDON_MS / 1000} s`,
  );
}

/** A busy provider takes seconds to remove a sandbox. A longer attempt is repeated, which is safe: destroying is idempotent. */
const ATTEMPT_MS = 30_000;
/** A sandbox that cannot be destroyed now is left to the sweep of the next start, so that it does not delay this process's end. */
const ATTEMPTS = 3;

/**
 * Destroys a sandbox, with several attempts. Never rejects.
 *
 * @returns the error when every attempt failed or took too long.
 */
async function tearDown(sandbox: Sandbox, clock: Clock): Promise<InfrastructureError | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      await withTimeout(clock, ATTEMPT_MS, sandbox.destroy(), () => new Error(`no answer within ${ATTEMPT_MS / 1000} s`));
      return undefined;
    } catch (error) {
      if (attempt === ATTEMPTS) return createNotDestroyedError(sandbox, error);
      await sleep(clock, computeBackoffMs(attempt));
    }
  }
}

function createNotDestroyedError(sandbox: Sandbox, cause: unknown): InfrastructureError {
  return new InfrastructureError(
    'sandbox.not-destroyed',
    `sandbox ${sandbox.id} could not be destroyed in ${ATTEMPTS} attempts, the last one: ${getMessage(cause)}. The next start of Muster sweeps it away`,
    { cause },
  );
}
