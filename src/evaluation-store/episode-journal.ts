import type { NewEpisode, StoredEpisode } from './episode-log.ts';

export interface KnownEpisodes {
  /** Episodes by index. */
  readonly episodes: readonly StoredEpisode[];
  /** The first index after the requested ones that may be known, too; undefined when none is. */
  readonly next: number | undefined;
}

/** Stores the episodes of one arm. An episode in the journal is not played again, whichever process played it. */
export interface EpisodeJournal {
  /**
   * Resolves when the episodes would survive the end of this process; they count only then.
   *
   * @throws OwnershipLostError when another process plays the evaluation now; InfrastructureError when they cannot be stored.
   */
  append(episodes: readonly NewEpisode[]): Promise<void>;

  /** Reads the stored episodes with indices from `from` up to, not including, `to`. @throws as `append` does. */
  readKnown(from: number, to: number): Promise<KnownEpisodes>;
}
