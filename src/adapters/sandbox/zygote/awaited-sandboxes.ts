import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { ProgramEnd } from '../local/program/sandboxed-program.ts';
import { toProgramEnd } from './forked-program.ts';
import type { SandboxReport } from './warden-messages.ts';

/**
 * How long a warden may take to report the end of a sandbox that it was ordered to kill, which takes the kernel milliseconds. Without an end it
 * is stuck, and the waiters for the sandbox would be, too.
 */
const KILL_DEADLINE_MS = 10_000;

interface Awaited {
  readonly started: PromiseWithResolvers<void>;
  readonly ended: PromiseWithResolvers<ProgramEnd>;
  /** Runs from the order to kill it. */
  deadline?: Disposable;
}

/** The sandboxes of one warden whose end it has not reported. */
export class AwaitedSandboxes {
  readonly #clock: Clock;
  readonly #awaited = new Map<string, Awaited>();

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
    this.#awaited.set(sandbox, { started, ended });
    return { started: started.promise, ended: ended.promise };
  }

  start(sandbox: string): void {
    this.#awaited.get(sandbox)?.started.resolve();
  }

  end(report: Exclude<SandboxReport, { readonly type: 'started' }>): void {
    const awaited = this.#awaited.get(report.sandbox);
    this.#awaited.delete(report.sandbox);
    awaited?.deadline?.[Symbol.dispose]();
    const detail = report.type === 'ended' ? 'the program ended before it began' : report.message;
    awaited?.started.reject(new InfrastructureError('sandbox.start', `the sandbox could not be forked: ${detail}`));
    awaited?.ended.resolve(toProgramEnd(report));
  }

  /**
   * From the order to kill a sandbox on, its end has a deadline.
   *
   * @returns false when the sandbox has ended or such an order was given before.
   */
  expectEnd(sandbox: string, onLate: (problem: string) => void): boolean {
    const awaited = this.#awaited.get(sandbox);
    if (!awaited || awaited.deadline) return false;
    const problem = `the zygote did not end a sandbox within ${KILL_DEADLINE_MS / 1000} s`;
    awaited.deadline = this.#clock.after(KILL_DEADLINE_MS, () => onLate(problem));
    return true;
  }

  /** The warden has ended, and all its sandboxes with it. */
  loseAll(detail: string, createError: () => Error): void {
    for (const { started, ended, deadline } of this.#awaited.values()) {
      deadline?.[Symbol.dispose]();
      started.reject(createError());
      ended.resolve({ kind: 'lost', detail, wasKilled: false });
    }
    this.#awaited.clear();
  }
}
