import { LRUCache } from 'lru-cache';
import type { Clock } from '../../kernel/clock.ts';

/** Of the hour for which what was used is safe from removal, so much may have gone by: it is little, and saves most of the marking. */
const RECENT_MILLISECONDS = 60_000;
/** A few hundred bytes each. */
const MOST = 1000;

/** What this process has marked as used a moment ago, by a name. Marking it again would be redundant. */
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
