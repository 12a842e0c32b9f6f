import { createAbortError } from '../../kernel/abort.ts';
import { InfrastructureError } from '../../kernel/errors.ts';

/** A provider's sandboxes that are being made. Once it is closed no further one begins, and those that are under way are given up. */
export class Creations {
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  /** Aborted when the provider is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** @param create given a signal that is aborted by the caller's, and when the provider is closed. @throws as `create` does. */
  async run<Made>(signal: AbortSignal, create: (either: AbortSignal) => Promise<Made>): Promise<Made> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    if (either.aborted) throw createAbortError(either);
    const creation = create(either);
    this.#underWay.add(creation);
    try {
      return await creation;
    } finally {
      this.#underWay.delete(creation);
    }
  }

  /** Resolves when none is under way any more. */
  async close(): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    await Promise.allSettled(this.#underWay);
  }
}
