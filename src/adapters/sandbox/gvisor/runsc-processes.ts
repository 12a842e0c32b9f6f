import type { Clock } from '../../../kernel/clock.ts';
import type { FurtherProcesses } from '../local/program/launched-program.ts';
import { killSandboxProcesses } from '../local/sweep.ts';

/**
 * What follows `runsc run`: the sentry, which is the kernel inside, and the gofer, which hands it files. The kernel kills them
 * with it; one that it had only just forked is found by its command line, as are those that have not gone yet.
 */
export class RunscProcesses implements FurtherProcesses {
  readonly #directory: string;
  readonly #clock: Clock;

  /** @param directory the sandbox's own, in which runsc has its state. */
  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  async find(): Promise<void> {}

  kill(): void {}

  async waitUntilGone(): Promise<void> {
    await killSandboxProcesses(this.#directory, this.#clock);
  }
}
