import type { Clock } from '../../kernel/clock.ts';
import { Once } from '../../kernel/once.ts';
import type { SandboxExit } from '../../pool/ports/sandbox.ts';

export interface EndingParts {
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Ends the program if it still runs. Called once, with the reason. */
  readonly stop: (reason: SandboxExit) => void;
  /** Removes the sandbox with all that runs in it. Called again when it has failed. */
  readonly remove: () => Promise<void>;
  /** Resolves when all output of the stopped program can be read. Never rejects. */
  readonly complete: Promise<unknown>;
}

/**
 * The end of a sandbox. The first reason that is given counts; then the program is stopped, the sandbox is removed, and `exit` resolves.
 * That the lifetime is over is such a reason.
 */
export class SandboxEnding {
  /** Never rejects: the caller of `destroy` gets the removal's error, and a sweep tries again. */
  readonly exit: Promise<SandboxExit>;
  readonly #parts: EndingParts;
  readonly #reason = Promise.withResolvers<SandboxExit>();
  readonly #removal: Once<void>;

  constructor(parts: EndingParts) {
    this.#parts = parts;
    this.#removal = new Once(parts.remove);
    this.exit = this.#follow();
  }

  begin(reason: SandboxExit): void {
    this.#reason.resolve(reason);
  }

  /** @throws what the removal throws. */
  async destroy(): Promise<void> {
    this.begin({ kind: 'destroyed' });
    await this.#reason.promise;
    await this.#removal.run();
    await this.exit;
  }

  async #follow(): Promise<SandboxExit> {
    const reason = await this.#awaitReason();
    this.#parts.stop(reason);
    await this.#removal.run().catch(() => undefined);
    await this.#parts.complete;
    return reason;
  }

  async #awaitReason(): Promise<SandboxExit> {
    const { clock, lifetimeSeconds } = this.#parts;
    using _lifetime = clock.after(lifetimeSeconds * 1000, () => this.begin({ kind: 'lifetime' }));
    return await this.#reason.promise;
  }
}
