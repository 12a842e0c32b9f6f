import type { Clock } from '../../kernel/clock.ts';
import { Permits } from '../../pool/permits.ts';

/** A command that has not ended by then leaves its place to the next one: it may run for hours, or wait for something. */
export const PLACE_MS = 25;

/**
 * Lets a few commands begin at a time, in the order in which they were asked for. When more short commands run side by side than there are processors, each
 * of them takes as long as all of them, and the unluckiest much longer.
 */
export class CommandStarts {
  readonly #clock: Clock;
  readonly #places: Permits;

  /** @param most that begin at a time. */
  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#places = new Permits(most);
  }

  /** @returns a place, once there is one, to be disposed of when the command has ended. @throws the signal's reason. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    const leaving = new DisposableStack();
    for (const place of await this.#places.acquire(1, signal)) leaving.use(place);
    const timer = this.#clock.after(PLACE_MS, () => leaving.dispose());
    return {
      [Symbol.dispose]: () => {
        timer[Symbol.dispose]();
        leaving.dispose();
      },
    };
  }
}
