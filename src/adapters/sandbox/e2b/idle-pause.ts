/** Suspends something and wakes it. */
export interface Sleeper {
  pause(): Promise<void>;
  wakeUp(): Promise<void>;
}

/**
 * Pauses an idle sandbox until it is used: awake ─▶ falling asleep ─▶ asleep ─▶ waking ─▶ awake, one step at a time. A caller that needs it while it
 * falls asleep waits until it is asleep, and wakes it. A failed step fails for all callers, and no step is tried after it.
 */
export class IdlePause {
  readonly #sleeper: Sleeper;
  /** The last requested step. */
  #turn: Promise<void> | undefined;
  /** Requested and not done; a failed one stays. */
  #steps = 0;
  #isAsleep = false;

  constructor(sleeper: Sleeper) {
    this.#sleeper = sleeper;
  }

  rest(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#isAsleep) return;
      await this.#sleeper.pause();
      this.#isAsleep = true;
    });
  }

  /** @returns undefined when it is awake. */
  wake(): Promise<void> | undefined {
    if (!this.#isAsleep && this.#turn === undefined) return undefined;
    return this.#enqueue(async () => {
      if (!this.#isAsleep) return;
      await this.#sleeper.wakeUp();
      this.#isAsleep = false;
    });
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    this.#steps += 1;
    const turn = this.#runAfter(this.#turn, step);
    this.#turn = turn;
    return turn;
  }

  async #runAfter(before: Promise<void> | undefined, step: () => Promise<void>): Promise<void> {
    await before;
    await step();
    this.#steps -= 1;
    if (this.#steps === 0) this.#turn = undefined;
  }
}
