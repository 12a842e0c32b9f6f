import type { Clock } from '../../../kernel/clock.ts';
import { withStallTimeout } from '../../../kernel/deadline.ts';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { ProgramEnd } from '../local/program/sandboxed-program.ts';
import { toProgramEnd } from './forked-program.ts';
import type { SandboxReport } from './warden-messages.ts';

/**
 * How long a warden may report nothing while a sandbox that it was ordered to kill has not ended. The kernel needs milliseconds for that, so the
 * warden is stuck, and the waiters for the sandbox would be, too. A warden that reports other sandboxes is not stuck: the machine is busy.
 */
const KILL_DEADLINE_MS = 10_000;

interface Awaited {
  readonly started: PromiseWithResolvers<void>;
  readonly ended: PromiseWithResolvers<ProgramEnd>;
  hasStarted: boolean;
  /** Whether it was ordered to be killed. */
  isEnding: boolean;
}

/** The sandboxes of one warden whose end it has not reported. */
export class AwaitedSandboxes {
  readonly #clock: Clock;
  readonly #awaited = new Map<string, Awaited>();
  #reportedAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#awaited.size === 0;
  }

  expect(sandbox: string): { readonly started: Promise<void>; readonly ended: Promise<ProgramEnd> } {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<ProgramEnd>();
    started.promise.catch(() => {});
    this.#awaited.set(sandbox, { started, ended, hasStarted: false, isEnding: false });
    return { started: started.promise, ended: ended.promise };
  }

  start(sandbox: string): void {
    this.#reportedAt = this.#clock.now();
    const awaited = this.#awaited.get(sandbox);
    if (!awaited) return;
    awaited.hasStarted = true;
    awaited.started.resolve();
  }

  end(report: Exclude<SandboxReport, { readonly type: 'started' }>): void {
    this.#reportedAt = this.#clock.now();
    const awaited = this.#awaited.get(report.sandbox);
    if (!awaited) return;
    this.#awaited.delete(report.sandbox);
    const detail = report.type === 'ended' ? 'the program ended before it began' : report.message;
    // Most have started: then an error would be made for nothing, and its stack takes longer than all the rest.
    if (!awaited.hasStarted) awaited.started.reject(new InfrastructureError('sandbox.start', `the sandbox could not be forked: ${detail}`));
    awaited.ended.resolve(toProgramEnd(report));
  }

  /**
   * Sets a deadline for a sandbox's end, which begins with the order to kill it.
   *
   * @returns false when the sandbox has ended or such an order was given before.
   */
  expectEnd(sandbox: string, onLate: (problem: string) => void): boolean {
    const awaited = this.#awaited.get(sandbox);
    if (!awaited || awaited.isEnding) return false;
    awaited.isEnding = true;
    const late = (): Error => new Error(`the zygote did not end a sandbox within ${KILL_DEADLINE_MS / 1000} s`);
    const ended = withStallTimeout(this.#clock, KILL_DEADLINE_MS, () => this.#reportedAt, awaited.ended.promise, late);
    ended.catch((error: unknown) => onLate(getMessage(error)));
    return true;
  }

  /** Ends all sandboxes as lost: their warden has ended. */
  loseAll(detail: string, createError: () => Error): void {
    for (const { started, ended } of this.#awaited.values()) {
      started.reject(createError());
      ended.resolve({ kind: 'lost', detail, wasKilled: false });
    }
    this.#awaited.clear();
  }
}
