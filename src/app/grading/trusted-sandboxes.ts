import type { GradingSandbox } from '../../agents/grading/grading-sandboxes.ts';
import type { Clock } from '../../kernel/clock.ts';

/** Longer than the stages of a verdict between two uses; short enough to free an unused machine soon. */
const IDLE_MS = 10_000;

interface Kept {
  readonly key: string;
  readonly sandbox: GradingSandbox;
  readonly leaving: Disposable;
}

/**
 * Sandboxes in which only a task's own code has run, kept for a while for the next verdict on that task: making one and starting its interpreter
 * takes as long as everything that runs in it. A sandbox whose use was interrupted is not kept, as something may still run there.
 */
export class TrustedSandboxes implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #most: number;
  /** Kept sandboxes in the order of their last use. */
  readonly #kept = new Set<Kept>();
  #isClosed = false;

  /** @param most sandboxes to keep. */
  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  /** The number of sandboxes that are kept: leased, but not in use. */
  get unused(): number {
    return [...this.#kept].filter(({ sandbox }) => !sandbox.signal.aborted).length;
  }

  /** Returns a sandbox that is kept under this name, or makes one. Disposing it keeps it. */
  async open(key: string, make: () => Promise<GradingSandbox>): Promise<GradingSandbox> {
    const sandbox = this.#take(key) ?? (await make());
    const { session, signal } = sandbox;
    return { session, signal, [Symbol.asyncDispose]: () => this.#giveBack(key, sandbox) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const kept of this.#kept) await this.#leave(kept);
  }

  #take(key: string): GradingSandbox | undefined {
    for (const kept of this.#kept) {
      if (kept.key !== key || kept.sandbox.signal.aborted) continue;
      this.#kept.delete(kept);
      kept.leaving[Symbol.dispose]();
      return kept.sandbox;
    }
    return undefined;
  }

  async #giveBack(key: string, sandbox: GradingSandbox): Promise<void> {
    if (this.#isClosed || sandbox.signal.aborted || !sandbox.session.isAtRest) return sandbox[Symbol.asyncDispose]();
    const kept: Kept = { key, sandbox, leaving: this.#clock.after(IDLE_MS, () => void this.#leave(kept)) };
    this.#kept.add(kept);
    const [oldest] = this.#kept;
    if (oldest && this.#kept.size > this.#most) await this.#leave(oldest);
  }

  async #leave(kept: Kept): Promise<void> {
    if (!this.#kept.delete(kept)) return;
    kept.leaving[Symbol.dispose]();
    await kept.sandbox[Symbol.asyncDispose]();
  }
}
