import type { Clock } from '../kernel/clock.ts';

/** Of the hour for which what was used is safe from removal, so much may have gone by: it is little, and saves most of the marking. */
const RECENT_MILLISECONDS = 60_000;
/** A few hundred bytes each. */
const MOST = 1000;

/** What this process has marked as used a moment ago, by a name: to do it again would tell nobody anything. */
export class RecentMarks {
  readonly #clock: Clock;
  readonly #markedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(name: string): void {
    // The one that was marked longest ago goes.
    this.#markedAt.delete(name);
    this.#markedAt.set(name, this.#clock.now());
    const [oldest] = this.#markedAt.keys();
    if (this.#markedAt.size > MOST && oldest !== undefined) this.#markedAt.delete(oldest);
  }

  has(name: string): boolean {
    const markedAt = this.#markedAt.get(name);
    return markedAt !== undefined && this.#clock.now() - markedAt < RECENT_MILLISECONDS;
  }
}
