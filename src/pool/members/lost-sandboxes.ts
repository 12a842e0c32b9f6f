import type { Clock } from '../../kernel/clock.ts';
import type { SandboxId } from '../../kernel/ids.ts';

/** A sandbox that was ready and died, or stopped answering its heartbeat. */
export interface LostSandbox {
  readonly id: SandboxId;
  readonly at: Date;
  /** The description by the provider or by the program inside. */
  readonly detail: string;
}

/** Long enough for a person to see it. */
const KEPT_MILLISECONDS = 60_000;
/** Keeps the latest ones when more are lost at once. */
const MOST_KEPT = 50;

/** The sandboxes that were lost recently, for displays of the pool. */
export class LostSandboxes {
  readonly #clock: Clock;
  #lost: readonly { readonly since: number; readonly sandbox: LostSandbox }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: SandboxId, detail: string): void {
    const lost = { since: this.#clock.now(), sandbox: { id, at: this.#clock.date(), detail } };
    this.#lost = [...this.#lost, lost].slice(-MOST_KEPT);
  }

  /** Lists them with the latest last. */
  list(): readonly LostSandbox[] {
    const now = this.#clock.now();
    this.#lost = this.#lost.filter(({ since }) => now - since < KEPT_MILLISECONDS);
    return this.#lost.map(({ sandbox }) => sandbox);
  }
}
