import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import type { StoredEpisode } from '../../evaluation-store/episode-log.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { Block } from './block.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { RepeatedPlays } from './repeated-plays.ts';
import { dropDetail } from './without-detail.ts';

/** An episode with a known outcome, which need not be played. */
export interface RecalledEpisode {
  readonly stored: StoredEpisode;
  readonly planned: PlannedEpisode;
}

/** Adds the outcomes that a journal knows to an arm instead of playing their episodes; the unknown rest of their blocks is dispatched. */
export class ArmRecall {
  readonly #dispatcher: Pick<Dispatcher, 'next' | 'passNext' | 'return'>;
  readonly #repeated: RepeatedPlays;
  readonly #onKnown: (episode: RecalledEpisode) => void;
  /** It becomes undefined once the journal knows nothing more. Until then only episodes that the journal does not know are dispatched. */
  #recall: Recall | undefined;
  #running: Promise<boolean> | undefined;
  #count = 0;

  /** @param onKnown counts the episode. */
  constructor(
    journal: EpisodeJournal,
    dispatcher: Pick<Dispatcher, 'next' | 'passNext' | 'return'>,
    repeated: RepeatedPlays,
    onKnown: (episode: RecalledEpisode) => void,
  ) {
    this.#recall = new Recall(journal);
    this.#dispatcher = dispatcher;
    this.#repeated = repeated;
    this.#onKnown = onKnown;
  }

  /** Whether all outcomes of the journal have been added. */
  get isOver(): boolean {
    return this.#recall === undefined;
  }

  /** Episodes that were added. */
  get count(): number {
    return this.#count;
  }

  /**
   * @param needed the first index that is not needed yet; it grows as episodes are counted. @param isWanted whether more outcomes are
   * needed. @returns whether anything was done.
   */
  recallUpTo(needed: () => number, isWanted: () => boolean): Promise<boolean> {
    this.#running ??= this.#recallUpTo(needed, isWanted).finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #recallUpTo(needed: () => number, isWanted: () => boolean): Promise<boolean> {
    const before = this.#dispatcher.next;
    while (this.#recall && isWanted()) {
      const end = needed();
      if (this.#recall.isExhausted) this.#recall = undefined;
      else if (end <= this.#dispatcher.next) break;
      else this.#takeIn(await this.#recall.take(end), end, isWanted);
    }
    return this.#dispatcher.next > before;
  }

  /** @param known episodes from the dispatcher's next index up to `end`, by index. */
  #takeIn(known: readonly StoredEpisode[], end: number, isWanted: () => boolean): void {
    let position = 0;
    while (this.#dispatcher.next < end && isWanted()) {
      const block = this.#dispatcher.passNext();
      const first = position;
      for (let episode = known[position]; episode && episode.index < this.#dispatcher.next; episode = known[(position += 1)])
        this.#takeOne(block, episode);
      if (block.isSettled) continue;
      for (const { index, outcome } of known.slice(first, position)) this.#repeated.keep(index, dropDetail(outcome));
      this.#dispatcher.return(block);
    }
  }

  #takeOne(block: Block, stored: StoredEpisode): void {
    const planned = block.settle(stored.index);
    if (!planned) return;
    if (planned.task !== stored.task) {
      throw new InfrastructureError(
        'store.episode-differs',
        `episode ${stored.index} is stored as one of task ${stored.task}, and this suite plays task ${planned.task} there; evaluate again with the cache off`,
      );
    }
    this.#count += 1;
    this.#onKnown({ stored, planned });
  }
}

/** Indices that are looked up together: a journal of a million episodes is never in memory. */
const PAGE = 1024;

/** The episodes of a journal, read in ranges from index 0 on. */
class Recall {
  readonly #journal: EpisodeJournal;
  /** The last page. Episodes before `#position` have been returned. */
  #page: readonly StoredEpisode[] = [];
  #position = 0;
  /** All indices before it have been looked up. */
  #lookedUp = 0;
  /** The first index from `#lookedUp` on that may be known. It is undefined when there is none. */
  #next: number | undefined = 0;

  constructor(journal: EpisodeJournal) {
    this.#journal = journal;
  }

  /** Whether all known episodes have been returned. */
  get isExhausted(): boolean {
    return this.#next === undefined && this.#position === this.#page.length;
  }

  /** Takes the known episodes before index `to` that have not been returned. `to` grows from call to call. */
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
