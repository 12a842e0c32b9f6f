import { raceWithAbort } from '../kernel/abort.ts';

interface Waiting {
  readonly count: number;
  readonly grant: () => void;
}

/** Bounds how many of something there are at a time. Those are served first who asked first; several are had all at once, or not at all. */
export class Permits {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #free: number;

  constructor(most: number) {
    this.#most = most;
    this.#free = most;
  }

  /**
   * @param count where it is more than there will ever be, all of them are waited for.
   * @returns so many, each to be disposed of. @throws the signal's reason.
   */
  async acquire(count: number, signal: AbortSignal): Promise<readonly Disposable[]> {
    signal.throwIfAborted();
    const held = Math.min(count, this.#most);
    const granted = Promise.withResolvers<void>();
    const waiting = { count: held, grant: granted.resolve };
    this.#waiting.push(waiting);
    this.#grant();
    try {
      await raceWithAbort(granted.promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(waiting);
      if (at === -1) this.#free += held;
      else this.#waiting.splice(at, 1);
      this.#grant();
      throw error;
    }
    return Array.from({ length: count }, (_, i) => this.#permit(i < held ? 1 : 0));
  }

  #permit(counted: number): Disposable {
    let left = counted;
    return {
      [Symbol.dispose]: () => {
        this.#free += left;
        left = 0;
        this.#grant();
      },
    };
  }

  #grant(): void {
    for (let next = this.#waiting[0]; next && next.count <= this.#free; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#free -= next.count;
      next.grant();
    }
  }
}
