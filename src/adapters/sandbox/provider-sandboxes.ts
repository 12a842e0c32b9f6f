import { createAbortError } from '../../kernel/abort.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { Sandbox } from '../../pool/ports/sandbox.ts';

type Destroyable = Pick<Sandbox, 'destroy'>;

/** The sandboxes of one provider: those that are being made, and those of which something is left. */
export class ProviderSandboxes {
  readonly #beingMade = new Set<Promise<unknown>>();
  readonly #made = new Set<Destroyable>();
  readonly #closing = new AbortController();

  /** Aborted when the provider is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** @param create given a signal that is aborted by the caller's, and when the provider is closed. @throws as `create` does. */
  async create<Made>(signal: AbortSignal, create: (either: AbortSignal) => Promise<Made>): Promise<Made> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    if (either.aborted) throw createAbortError(either);
    const creation = create(either);
    this.#beingMade.add(creation);
    try {
      return await creation;
    } finally {
      this.#beingMade.delete(creation);
    }
  }

  /** @param make given what the sandbox calls when nothing is left of it. */
  hold<Made extends Destroyable>(make: (onGone: () => void) => Made): Made {
    const sandbox: Made = make(() => this.#made.delete(sandbox));
    this.#made.add(sandbox);
    return sandbox;
  }

  /** Begins no more creations, and gives up those under way. Resolves when none is under way any more. */
  async stopCreating(): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    await Promise.allSettled(this.#beingMade);
  }

  /** @throws InfrastructureError of the first that cannot be removed, when all others are. */
  async destroyAll(): Promise<void> {
    const ends = await Promise.allSettled([...this.#made].map((sandbox) => sandbox.destroy()));
    const failure = ends.find((end) => end.status === 'rejected');
    if (!failure) return;
    if (failure.reason instanceof InfrastructureError) throw failure.reason;
    throw new InfrastructureError('sandbox.not-gone', getMessage(failure.reason), { cause: failure.reason });
  }
}
