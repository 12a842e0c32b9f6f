import type { AgentEpisodeId } from './episode-ids.ts';
import type { EpisodeState } from './episode-state.ts';

/** What is known of an open episode at the moment. */
export interface LiveEpisode {
  readonly state: EpisodeState;
  /** Of the holder that says so. */
  readonly fence: number;
}

/**
 * The state of open episodes, read and written at every step. It need not survive: all of it may be gone at any moment, and is then made again
 * from the stored steps.
 */
export interface LiveEpisodes {
  /** @returns undefined when nothing is known. */
  get(id: AgentEpisodeId): Promise<LiveEpisode | undefined>;

  /** @returns false, and nothing is changed, when a later holder has written, or the same one with more steps. */
  put(id: AgentEpisodeId, episode: LiveEpisode): Promise<boolean>;

  remove(id: AgentEpisodeId): Promise<void>;
}

/** Whether `coming` may take the place of what is known; for all implementations alike. */
export function isNewer(known: LiveEpisode | undefined, coming: LiveEpisode): boolean {
  if (known === undefined) return true;
  if (known.fence !== coming.fence) return coming.fence > known.fence;
  return coming.state.answered.length >= known.state.answered.length;
}
