import type { Clock } from '../kernel/clock.ts';
import type { RecordedCheckpoint } from './checkpoint-records.ts';

/** Of the hour for which what was used is safe from removal, so much may have gone by: it is little, and saves most of the marking. */
const RECENT_MILLISECONDS = 60_000;
/** A few hundred bytes each. */
const MOST = 1000;

/** Checkpoints that this process has marked as used, with all of their files, a moment ago: to do it again would tell nobody anything. */
export class RecentMarks {
  readonly #clock: Clock;
  readonly #markedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(checkpoint: RecordedCheckpoint): void {
    const key = keyOf(checkpoint);
    // The one that was marked longest ago goes.
    this.#markedAt.delete(key);
    this.#markedAt.set(key, this.#clock.now());
    const [oldest] = this.#markedAt.keys();
    if (this.#markedAt.size > MOST && oldest !== undefined) this.#markedAt.delete(oldest);
  }

  has(checkpoint: RecordedCheckpoint): boolean {
    const markedAt = this.#markedAt.get(keyOf(checkpoint));
    return markedAt !== undefined && this.#clock.now() - markedAt < RECENT_MILLISECONDS;
  }
}

/** With the names of its files, which its digest may not tell. */
function keyOf({ digest, files }: RecordedCheckpoint): string {
  return JSON.stringify([digest, ...files.map(({ path }) => path)]);
}
