import type { Place, SlotShare } from './slot-share.ts';

/** Those whom a run has put to work: each plays, looks for work or waits for a sandbox. */
export class Workers {
  readonly #share: SlotShare | undefined;
  #size = 0;
  #withoutPlace = 0;

  /** @param share what they may have of the pool, when others want its sandboxes, too. */
  constructor(share: SlotShare | undefined) {
    this.#share = share;
  }

  get size(): number {
    return this.#size;
  }

  /** Those who share in the work. Not whoever waits for others to give a place back: it may be over before they do. */
  get atWork(): number {
    return this.#size - this.#withoutPlace;
  }

  /** One more, until it is disposed of. */
  hire(): Disposable {
    this.#size += 1;
    return { [Symbol.dispose]: () => (this.#size -= 1) };
  }

  /** Undefined where there is no share to keep to. @throws as `SlotShare.take` does. */
  async takePlace(signal: AbortSignal): Promise<Place | undefined> {
    if (!this.#share) return undefined;
    this.#withoutPlace += 1;
    try {
      return await this.#share.take(signal);
    } finally {
      this.#withoutPlace -= 1;
    }
  }
}
