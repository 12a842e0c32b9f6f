import type { Clock } from '../../../kernel/clock.ts';
import type { GradingContext } from '../grading-context.ts';
import type { GradingSandbox, GradingSandboxes } from '../grading-sandboxes.ts';

/** The time of one attempt at a verdict. Waiting for a sandbox, or in one for a processor, does not count against the submission. */
export class GradingTime {
  readonly sandboxes: GradingSandboxes;
  readonly #clock: Clock;
  #deadline: number;
  /** Earlier waiting of each sandbox's commands. A trusted sandbox serves one verdict after the other. */
  readonly #opened: { readonly sandbox: GradingSandbox; readonly waitedBefore: number }[] = [];

  constructor({ clock, sandboxes }: Pick<GradingContext, 'clock' | 'sandboxes'>, seconds: number) {
    this.#clock = clock;
    this.#deadline = clock.now() + seconds * 1000;
    this.sandboxes = {
      open: (template, signal) => this.#pause(() => sandboxes.open(template, signal), alone),
      openBoth: (one, other, signal) =>
        this.#pause(
          () => sandboxes.openBoth(one, other, signal),
          (both) => both,
        ),
      openTrusted: (...asked) => this.#pause(() => sandboxes.openTrusted(...asked), alone),
      rootFiles: (root, directory, signal) =>
        this.#pause(
          () => sandboxes.rootFiles(root, directory, signal),
          () => [],
        ),
    };
  }

  /** Limits a number of seconds to the remaining time. A command without any is ended as soon as it has begun. */
  within(seconds: number): number {
    const waited = this.#opened.reduce((sum, { sandbox, waitedBefore }) => sum + sandbox.session.waitedSeconds - waitedBefore, 0);
    return Math.min(seconds, Math.max(0.001, waited + (this.#deadline - this.#clock.now()) / 1000));
  }

  /** Waits, without counting the time that this takes. */
  async leaveOut<Value>(wait: () => Promise<Value>): Promise<Value> {
    const from = this.#clock.now();
    try {
      return await wait();
    } finally {
      this.#deadline += this.#clock.now() - from;
    }
  }

  async #pause<Opened>(open: () => Promise<Opened>, list: (opened: Opened) => readonly GradingSandbox[]): Promise<Opened> {
    const opened = await this.leaveOut(open);
    for (const sandbox of list(opened)) this.#opened.push({ sandbox, waitedBefore: sandbox.session.waitedSeconds });
    return opened;
  }
}

function alone(sandbox: GradingSandbox): readonly GradingSandbox[] {
  return [sandbox];
}
