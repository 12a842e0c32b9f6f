import type { Slot, SlotShare } from './slot-share.ts';

/** The workers of a run: each plays, looks for work or waits for a sandbox. */
export class Workers {
  readonly #share: SlotShare | undefined;
  #size = 0;
  #withoutSlot = 0;

  /** @param share of the pool, when others want its sandboxes, too. */
  constructor(share: SlotShare | undefined) {
    this.#share = share;
  }

  get size(): number {
    return this.#size;
  }

  /** Workers that share the work. Those that wait for a slot do not count: the run may end before they get one. */
  get atWork(): number {
    return this.#size - this.#withoutSlot;
  }

  /** Adds a worker until the result is disposed. */
  add(): Disposable {
    this.#size += 1;
    return { [Symbol.dispose]: () => (this.#size -= 1) };
  }

  /** Returns undefined where no share applies. @throws as `SlotShare.take` does. */
  async takeSlot(signal: AbortSignal): Promise<Slot | undefined> {
    if (!this.#share) return undefined;
    this.#withoutSlot += 1;
    try {
      return await this.#share.take(signal);
    } finally {
      this.#withoutSlot -= 1;
    }
  }
}
