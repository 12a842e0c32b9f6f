import type { Clock } from '../../../kernel/clock.ts';
import { getMessage } from '../../../kernel/errors.ts';
import type { E2bService } from './service.ts';

/** Extended this many times within the time that it would live without: two that fail do no harm. */
const PER_TENANCY = 3;

/**
 * Keeps a sandbox at E2B alive for as long as its Muster lives. E2B ends a sandbox that is not extended, so when a Muster dies, its sandboxes end
 * without a sweep.
 */
export class Tenancy implements Disposable {
  readonly #service: E2bService;
  readonly #sandboxId: string;
  readonly #seconds: number;
  readonly #clock: Clock;
  readonly #lost: (detail: string) => void;
  readonly #over = new AbortController();
  #timer: Disposable;
  #isHeld = false;

  /** @param lost called when E2B no longer has the sandbox. */
  constructor(service: E2bService, sandboxId: string, seconds: number, clock: Clock, lost: (detail: string) => void) {
    this.#service = service;
    this.#sandboxId = sandboxId;
    this.#seconds = seconds;
    this.#clock = clock;
    this.#lost = lost;
    this.#timer = this.#scheduleRenewal();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#over.abort(new DOMException('the sandbox is given up', 'AbortError'));
  }

  /** Extends nothing until it continues: a paused sandbox stays, and cannot be extended. */
  hold(): void {
    this.#isHeld = true;
    this.#timer[Symbol.dispose]();
  }

  goOn(): void {
    if (!this.#isHeld || this.#over.signal.aborted) return;
    this.#isHeld = false;
    this.#timer = this.#scheduleRenewal();
  }

  #scheduleRenewal(): Disposable {
    return this.#clock.after((this.#seconds * 1000) / PER_TENANCY, () => void this.#extend());
  }

  async #extend(): Promise<void> {
    const { signal } = this.#over;
    try {
      const isThere = await this.#service.extend(this.#sandboxId, this.#seconds * 1000, signal);
      if (!isThere && !this.#isHeld) this.#lost('E2B has ended the sandbox');
    } catch (error) {
      // A temporary failure is retried at the next turn. When it lasts, E2B ends the sandbox, and its connection reports that.
      if (!signal.aborted && !this.#isHeld && isFinal(error)) this.#lost(`the sandbox could not be extended: ${getMessage(error)}`);
    }
    if (!signal.aborted && !this.#isHeld) this.#timer = this.#scheduleRenewal();
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof Error && 'kind' in error && error.kind === 'input';
}
