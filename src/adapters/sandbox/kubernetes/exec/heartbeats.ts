import type { Clock } from '../../../../kernel/clock.ts';

/** How often each connection is pinged; one without an answer by the next time is closed. */
const INTERVAL_MS = 5_000;
/** Spreads the pings of thousands of connections over turns of the event loop. */
const SLOTS = 50;

/** A connection that can be pinged. */
export interface Pulse {
  /** Asks, or gives up on what did not answer last time. */
  beat(): void;
}

/** Pings every connection in turn, by one timer for all. It runs only while there are connections. */
export class Heartbeats implements Disposable {
  readonly #clock: Clock;
  readonly #slots: readonly Set<Pulse>[] = Array.from({ length: SLOTS }, () => new Set<Pulse>());
  #size = 0;
  #next = 0;
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Pings the connection until the result is disposed. */
  add(pulse: Pulse): Disposable {
    const slot = this.#slots[(this.#next + this.#size) % SLOTS];
    slot?.add(pulse);
    this.#size += 1;
    this.#timer ??= this.#schedule();
    return {
      [Symbol.dispose]: () => {
        if (slot?.delete(pulse) === true) this.#size -= 1;
        if (this.#size === 0) this[Symbol.dispose]();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #schedule(): Disposable {
    return this.#clock.after(INTERVAL_MS / SLOTS, () => {
      this.#next = (this.#next + 1) % SLOTS;
      this.#timer = this.#schedule();
      for (const pulse of this.#slots[this.#next] ?? []) pulse.beat();
    });
  }
}
