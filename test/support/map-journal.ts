import type { EpisodeJournal } from '../../src/evaluation-store/episode-journal.ts';
import type { StoredEpisode } from '../../src/evaluation-store/episode-log.ts';
import { settle } from './manual-clock.ts';

/** A journal in memory. */
export class MapJournal implements EpisodeJournal {
  readonly episodes = new Map<number, StoredEpisode>();
  onAppend: () => void = () => undefined;
  furthest = 0;

  constructor(episodes: readonly StoredEpisode[] = []) {
    for (const episode of episodes) this.episodes.set(episode.index, episode);
  }

  async append(episodes: readonly StoredEpisode[]): Promise<void> {
    await settle();
    for (const episode of episodes) {
      if (this.episodes.has(episode.index)) throw new Error(`episode ${episode.index} was stored twice`);
      this.episodes.set(episode.index, episode);
    }
    this.onAppend();
  }

  async readKnown(from: number, to: number): ReturnType<EpisodeJournal['readKnown']> {
    this.furthest = Math.max(this.furthest, to);
    const sorted = [...this.episodes.values()].sort((a, b) => a.index - b.index);
    return {
      episodes: sorted.filter(({ index }) => index >= from && index < to),
      next: sorted.find(({ index }) => index >= to)?.index,
    };
  }
}
