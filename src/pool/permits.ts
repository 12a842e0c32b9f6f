import { raceWithAbort } from '../kernel/abort.ts';

interface Waiting {
  readonly count: number;
  readonly grant: () => void;
}

/**
 * Bounds how many of something exist at a time. Requests are served in order of arrival; several permits are granted together or not at
 * all.
 */
export class Permits {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #free: number;

  constructor(most: number) {
    this.#most = most;
    this.#free = most;
  }

  /**
   * @param count more than the maximum means all of them. @returns the permits, each of which the caller disposes. @throws the signal's
   * reason.
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
