import type { Clock } from '../../../../kernel/clock.ts';
import type { FurtherProcesses } from '../../local/program/launched-program.ts';
import { listChildren, killProcess, readStartTime, waitUntilGone } from '../../local/host/process-table.ts';
import { killSandboxProcesses } from '../../local/sweep.ts';

/**
 * The processes after bubblewrap's monitor.
 *
 * Killing the monitor makes the kernel kill its child, the first process of the sandbox's pid namespace, and with that one everything in it. The
 * child requests this from the kernel only a moment after it was forked, so it is killed as well: by its control group, by its id, or, when neither
 * is known yet, after a search of the process table.
 */
export class BubblewrapProcesses implements FurtherProcesses {
  readonly #directory: string;
  readonly #clock: Clock;
  /** bubblewrap's child, pid 1 inside. */
  #first: { readonly pid: number; readonly startTime: string } | undefined;

  /** @param directory the sandbox's own, which bubblewrap's command line names. */
  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  async find(pid: number): Promise<void> {
    const child = (await listChildren(pid))?.[0];
    const startTime = child && (await readStartTime(child));
    if (child && startTime) this.#first = { pid: child, startTime };
  }

  kill(): void {
    if (this.#first) killProcess(this.#first.pid);
  }

  /** Once its first process is gone, the kernel has ended all others of its pid namespace. */
  async waitUntilGone(wasSignalled: boolean): Promise<void> {
    const first = this.#first;
    if (first)
      await waitUntilGone(`processes of ${this.#directory}`, async () => (await readStartTime(first.pid)) !== first.startTime, this.#clock);
    else if (wasSignalled) await killSandboxProcesses(this.#directory, this.#clock);
  }
}
