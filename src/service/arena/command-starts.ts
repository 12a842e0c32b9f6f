import type { Clock } from '../../kernel/clock.ts';
import { Permits } from '../../pool/permits.ts';

/** A command that runs longer gives its permit to the next one: it may run for hours, or wait for something. */
export const PLACE_MS = 25;

/**
 * Lets a few commands begin at a time, in order of arrival. When more short commands than processors run side by side, each takes as long as all of
 * them together, and some take much longer.
 */
export class CommandStarts {
  readonly #clock: Clock;
  readonly #places: Permits;

  /** @param most that begin at a time. */
  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#places = new Permits(most);
  }

  /** @returns a permit, once there is one, to be disposed when the command has ended. @throws the signal's reason. */
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
