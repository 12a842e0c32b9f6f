import type { NewEpisode, StoredEpisode } from './episode-log.ts';

export interface KnownEpisodes {
  /** By index. */
  readonly episodes: readonly StoredEpisode[];
  /** First index after those asked for that may be known, too; undefined when none is. */
  readonly next: number | undefined;
}

/** Where the episodes of one arm are kept, for the arm: an episode in it need not be played again, by whichever process it was played. */
export interface EpisodeJournal {
  /**
   * Resolves when they would survive the end of this process; only then do they count.
   *
   * @throws OwnershipLostError when another plays the evaluation now; InfrastructureError when they cannot be kept.
   */
  append(episodes: readonly NewEpisode[]): Promise<void>;

  /** The stored episodes with indices from `from` up to, not including, `to`. @throws as `append` does. */
  readKnown(from: number, to: number): Promise<KnownEpisodes>;
}
