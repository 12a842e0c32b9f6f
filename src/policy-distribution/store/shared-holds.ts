import type { Digest } from '../../kernel/ids.ts';
import type { Hold } from './checkpoint-records.ts';

interface Shared {
  readonly made: Promise<Hold | undefined>;
  holders: number;
}

/**
 * Holds of this process, one for each checkpoint however many callers want it: it lasts until the last of them releases it. So hundreds of
 * evaluations of one checkpoint write and remove one file.
 */
export class SharedHolds {
  readonly #make: (digest: Digest) => Promise<Hold | undefined>;
  readonly #shared = new Map<Digest, Shared>();

  /** @param make makes a hold; returns undefined when there is nothing to hold. */
  constructor(make: (digest: Digest) => Promise<Hold | undefined>) {
    this.#make = make;
  }

  /** Returns undefined when there is nothing to hold. @throws as `make` does. */
  async hold(digest: Digest): Promise<Hold | undefined> {
    const shared = this.#shared.get(digest) ?? this.#begin(digest);
    shared.holders += 1;
    let hold: Hold | undefined;
    try {
      hold = await shared.made;
    } finally {
      // This makes the next caller try again.
      if (!hold) this.#forget(digest, shared);
    }
    return hold && this.#makeHold(digest, shared, hold);
  }

  #begin(digest: Digest): Shared {
    const shared = { made: this.#make(digest), holders: 0 };
    this.#shared.set(digest, shared);
    return shared;
  }

  #makeHold(digest: Digest, shared: Shared, hold: Hold): Hold {
    let isHeld = true;
    return {
      [Symbol.asyncDispose]: async () => {
        if (!isHeld) return;
        isHeld = false;
        shared.holders -= 1;
        if (shared.holders > 0) return;
        // The hold is forgotten first, so that the next caller gets a new hold while this one is released.
        this.#forget(digest, shared);
        await hold[Symbol.asyncDispose]();
      },
    };
  }

  #forget(digest: Digest, shared: Shared): void {
    if (this.#shared.get(digest) === shared) this.#shared.delete(digest);
  }
}
