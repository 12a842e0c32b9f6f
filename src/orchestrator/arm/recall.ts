import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import type { StoredEpisode } from '../../evaluation-store/episode-log.ts';

/** Looked up at a time: a journal of a million is never in memory. */
const PAGE = 1024;

/** What a journal knows, taken from it range by range, from index 0 on. */
export class Recall {
  readonly #journal: EpisodeJournal;
  /** Episodes of the last page; those before `#position` have been taken. */
  #page: readonly StoredEpisode[] = [];
  #position = 0;
  /** All indices before it have been looked up. */
  #lookedUp = 0;
  /** First index from `#lookedUp` on that may be known; undefined when there is none. */
  #next: number | undefined = 0;

  constructor(journal: EpisodeJournal) {
    this.#journal = journal;
  }

  /** Whether all that is known has been taken. */
  get isExhausted(): boolean {
    return this.#next === undefined && this.#position === this.#page.length;
  }

  /** Those known of the indices before `to` that have not been taken. `to` grows from call to call. */
  async take(to: number): Promise<readonly StoredEpisode[]> {
    const taken: StoredEpisode[] = [];
    this.#takeInto(taken, to);
    while (this.#next !== undefined && this.#lookedUp < to) {
      const from = Math.max(this.#lookedUp, this.#next);
      const { episodes, next } = await this.#journal.readKnown(from, from + PAGE);
      this.#page = episodes;
      this.#position = 0;
      this.#lookedUp = from + PAGE;
      this.#next = next;
      this.#takeInto(taken, to);
    }
    return taken;
  }

  #takeInto(taken: StoredEpisode[], to: number): void {
    for (; this.#position < this.#page.length; this.#position += 1) {
      const episode = this.#page[this.#position];
      if (episode === undefined || episode.index >= to) return;
      taken.push(episode);
    }
  }
}
