import { LRUCache } from 'lru-cache';
import type { Clock } from '../../kernel/clock.ts';

/**
 * A used checkpoint is safe from removal for an hour. A younger mark is not renewed, which loses little of the hour and saves most of the writing.
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
