import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { runnersInside } from '../end-to-end/inside.ts';

/** Each look reads the whole process table. */
const LOOK_MILLISECONDS = 60;

/** Kills sandboxes from outside, whatever they are doing, so that a given share of all that come to be ends that way. */
export class SandboxKiller {
  readonly #stateDirs: readonly string[];
  readonly #share: number;
  readonly #random: () => number;
  readonly #seen = new Set<number>();
  readonly #killed = new Set<number>();

  /** @param stateDirs of all Musters. @param share from 0 to 1. */
  constructor(stateDirs: readonly string[], share: number, random: () => number) {
    this.#stateDirs = stateDirs;
    this.#share = share;
    this.#random = random;
  }

  get counts(): { readonly seen: number; readonly killed: number } {
    return { seen: this.#seen.size, killed: this.#killed.size };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#look();
      // Uneven, so that it falls into step with nothing.
      await sleep(systemClock, 2 * LOOK_MILLISECONDS * this.#random());
    }
  }

  #look(): void {
    const living = this.#stateDirs.flatMap((stateDir) => runnersInside(stateDir));
    for (const { pid } of living) this.#seen.add(pid);
    const victims = living.filter(({ pid }) => !this.#killed.has(pid));
    while (victims.length > 0 && this.#killed.size + 1 <= this.#share * this.#seen.size) {
      const [victim] = victims.splice(Math.floor(this.#random() * victims.length), 1);
      if (victim === undefined) return;
      victim.kill();
      this.#killed.add(victim.pid);
    }
  }
}
