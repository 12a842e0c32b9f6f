import type { AgentEpisodeId } from './episode-ids.ts';
import type { EpisodeState } from './episode-state.ts';

/** The present knowledge about an open episode. */
export interface LiveEpisode {
  readonly state: EpisodeState;
  /** Number of the hold under which it was written. */
  readonly fence: number;
}

/**
 * The state of open episodes, read and written at every step. It need not survive: all of it may be gone at any moment, and is then made again
 * from the stored steps.
 */
export interface LiveEpisodes {
  /** @returns undefined when nothing is known. */
  get(id: AgentEpisodeId): Promise<LiveEpisode | undefined>;

  /** @returns false, and changes nothing, when a later holder has written, or the same one with more steps. */
  put(id: AgentEpisodeId, episode: LiveEpisode): Promise<boolean>;

  remove(id: AgentEpisodeId): Promise<void>;
}

/** Whether `coming` may replace the present entry; shared by all implementations. */
export function isNewer(known: LiveEpisode | undefined, coming: LiveEpisode): boolean {
  if (known === undefined) return true;
  if (known.fence !== coming.fence) return coming.fence > known.fence;
  return coming.state.answered.length >= known.state.answered.length;
}
