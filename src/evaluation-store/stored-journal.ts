import type { Turns } from '../kernel/turns.ts';
import type { EpisodeJournal, KnownEpisodes } from './episode-journal.ts';
import type { Leg, NewEpisode } from './episode-log.ts';
import type { EvaluationStore } from './evaluation-store.ts';
import type { Ownership } from './ownership.ts';

/**
 * The journal of a leg in the store. The next append writes together all episodes that arrive during one, so many sandboxes need no more appends
 * than one sandbox.
 */
export class StoredJournal implements EpisodeJournal {
  readonly #store: Pick<EvaluationStore, 'episodes' | 'cache'>;
  readonly #ownership: Ownership;
  readonly #leg: Leg;
  #gathered: NewEpisode[] = [];
  #underWay: Promise<void> | undefined;
  /** The append after the present one. It writes the episodes that have been collected when it begins. */
  #following: Promise<void> | undefined;

  constructor(store: Pick<EvaluationStore, 'episodes' | 'cache'>, ownership: Ownership, leg: Leg) {
    this.#store = store;
    this.#ownership = ownership;
    this.#leg = leg;
  }

  append(episodes: readonly NewEpisode[]): Promise<void> {
    for (const episode of episodes) this.#gathered.push(episode);
    if (this.#following) return this.#following;
    if (!this.#underWay) return this.#send();
    const send = (): Promise<void> => this.#send();
    this.#following = this.#underWay.then(send, send);
    return this.#following;
  }

  async readKnown(from: number, to: number): Promise<KnownEpisodes> {
    const { evaluation } = this.#ownership;
    const { arm } = this.#leg;
    await this.#store.cache.adopt(this.#ownership, this.#leg, from, to);
    // Reads one episode more than the range has, to learn the next known index.
    const page = await this.#store.episodes.page(evaluation, arm, from, to - from + 1);
    const episodes = page.filter(({ index }) => index < to);
    if (episodes.length === to - from) return { episodes, next: to };
    const own = page.find(({ index }) => index >= to);
    const others = await this.#store.cache.findNextKnown(this.#ownership, this.#leg, to);
    const next = Math.min(own?.index ?? Infinity, others ?? Infinity);
    return { episodes, next: next === Infinity ? undefined : next };
  }

  #send(): Promise<void> {
    const episodes = this.#gathered;
    this.#gathered = [];
    this.#following = undefined;
    const sent = this.#store.episodes.append(this.#ownership, this.#leg, episodes).finally(() => {
      if (this.#underWay === sent) this.#underWay = undefined;
    });
    this.#underWay = sent;
    return sent;
  }
}

/** Lets the callers of a journal resume one by one after an append, since many wait for the same one. */
export function takeTurns(journal: EpisodeJournal, turns: Turns): EpisodeJournal {
  return {
    readKnown: (from, to) => journal.readKnown(from, to),
    append: async (episodes) => {
      await journal.append(episodes);
      await turns.next();
    },
  };
}
