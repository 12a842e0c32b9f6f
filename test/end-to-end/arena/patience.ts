import { setTimeout as pause } from 'node:timers/promises';

const PAUSE_MS = 50;

/**
 * Bounds waits by what happens meanwhile, and not by how long they take: they fail once nothing at all has moved on for so long. A machine with
 * ten times the load takes ten times as long, while what is lost never comes.
 */
export class Patience {
  readonly #standstillMs: number;
  #movedAt = performance.now();

  constructor(standstillMs: number) {
    this.#standstillMs = standstillMs;
  }

  async until(what: string, condition: () => Promise<boolean>): Promise<void> {
    while (!(await condition())) {
      if (performance.now() - this.#movedAt > this.#standstillMs)
        throw new Error(`nothing has moved on for ${this.#standstillMs / 1000} s, and not yet: ${what}`);
      await pause(PAUSE_MS);
    }
    this.#movedAt = performance.now();
  }
}
