/** Schedules the steps of long work between other requests. */
export interface Turns {
  /** Resolves when the next step may run. */
  next(): Promise<void>;
}

/**
 * Allows one step in each turn of the event loop, so that incoming requests wait for one step and not for all that are ready. A thread that
 * is always busy still answers soon, and each step costs one more poll for events.
 */
export class EventLoopTurns implements Turns {
  readonly #waiting: (() => void)[] = [];
  /** Whether a step has run in this turn. */
  #isTaken = false;

  /** Resolves at once for the first step of a turn, otherwise in order of the calls. */
  next(): Promise<void> {
    if (!this.#isTaken) {
      this.#begin();
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  #begin(): void {
    this.#isTaken = true;
    setImmediate(() => this.#end());
  }

  #end(): void {
    this.#isTaken = false;
    const go = this.#waiting.shift();
    if (!go) return;
    this.#begin();
    go();
  }
}
