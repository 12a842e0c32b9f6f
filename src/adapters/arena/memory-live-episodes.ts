import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { isNewer, type LiveEpisode, type LiveEpisodes } from '../../agents/arena/live-episodes.ts';

export class MemoryLiveEpisodes implements LiveEpisodes {
  readonly #episodes = new Map<AgentEpisodeId, LiveEpisode>();

  async get(id: AgentEpisodeId): Promise<LiveEpisode | undefined> {
    return this.#episodes.get(id);
  }

  async put(id: AgentEpisodeId, episode: LiveEpisode): Promise<boolean> {
    if (!isNewer(this.#episodes.get(id), episode)) return false;
    this.#episodes.set(id, episode);
    return true;
  }

  async remove(id: AgentEpisodeId): Promise<void> {
    this.#episodes.delete(id);
  }
}
