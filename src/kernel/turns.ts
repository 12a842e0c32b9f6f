/** When the steps of long work are done, where other requests are answered meanwhile. */
export interface Turns {
  /** Resolves when the next step may be done. */
  next(): Promise<void>;
}

/**
 * One step in each turn of the event loop. Whatever came in meanwhile then waits for one step, and not for all that were ready: a thread that has always
 * something to do still answers soon. It costs the work no more than a look, after each step, at what came in.
 */
export class EventLoopTurns implements Turns {
  readonly #waiting: (() => void)[] = [];
  /** Whether a step has been let go on in this turn. */
  #isTaken = false;

  /** At once when there was none in this turn, otherwise in the order of the calls. */
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
