import { type Clock, sleep } from '../../../kernel/clock.ts';

/** Matches waiting items with waiting takers, each in order of arrival. */
export class OfferQueue<Item> {
  readonly #clock: Clock;
  readonly #offered = new Set<Item>();
  readonly #takers = new Set<(item: Item) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  offer(item: Item): void {
    const [taker] = this.#takers;
    if (taker === undefined) this.#offered.add(item);
    else taker(item);
  }

  withdraw(item: Item): void {
    this.#offered.delete(item);
  }

  /** @returns undefined when there is none within the time, or the signal is aborted. */
  async take(seconds: number, signal: AbortSignal): Promise<Item | undefined> {
    const [first] = this.#offered;
    if (first !== undefined) {
      this.#offered.delete(first);
      return first;
    }
    if (seconds === 0) return undefined;
    const { promise, resolve } = Promise.withResolvers<Item | undefined>();
    const over = new AbortController();
    const take = (item: Item | undefined): void => {
      this.#takers.delete(take);
      over.abort();
      resolve(item);
    };
    this.#takers.add(take);
    const waited = sleep(this.#clock, seconds * 1000, AbortSignal.any([signal, over.signal]));
    void waited.catch(() => undefined).then(() => take(undefined));
    return await promise;
  }
}
