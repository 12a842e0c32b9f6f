/** Adds up how long sandboxes have been leased, which decides the cost of an evaluation. */
export class SandboxTime {
  #ended = 0;
  #running = 0;
  #sumOfStarts = 0;

  /** @param now milliseconds on the clock. */
  start(now: number): void {
    this.#running += 1;
    this.#sumOfStarts += now;
  }

  /** @param startedAt as given to `start`. */
  end(startedAt: number, now: number): void {
    this.#running -= 1;
    this.#sumOfStarts -= startedAt;
    this.#ended += now - startedAt;
  }

  sumSeconds(now: number): number {
    return (this.#ended + this.#running * now - this.#sumOfStarts) / 1000;
  }
}
