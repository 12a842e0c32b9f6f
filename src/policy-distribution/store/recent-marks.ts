import { LRUCache } from 'lru-cache';
import type { Clock } from '../../kernel/clock.ts';

/**
 * A used checkpoint is safe from removal for an hour. A mark of this age still counts, which loses little of the hour and saves most of the marking.
 */
const RECENT_MILLISECONDS = 60_000;
/** A few hundred bytes each. */
const MOST = 1000;

/** Names that this process has recently marked as used, and need not mark again. */
export class RecentMarks {
  readonly #clock: Clock;
  readonly #markedAt = new LRUCache<string, number>({ max: MOST });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(name: string): void {
    this.#markedAt.set(name, this.#clock.now());
  }

  has(name: string): boolean {
    const markedAt = this.#markedAt.get(name);
    return markedAt !== undefined && this.#clock.now() - markedAt < RECENT_MILLISECONDS;
  }
}
