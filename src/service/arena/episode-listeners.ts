import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { Listener } from '../playing/news.ts';

/** Wakes those that wait for a change of an episode. Changes by other processes are not announced: a wait looks again by itself. */
export class EpisodeListeners {
  readonly #listeners = new Map<AgentEpisodeId, Set<() => void>>();

  tell(id: AgentEpisodeId): void {
    for (const wake of this.#listeners.get(id) ?? []) wake();
  }

  tellAll(): void {
    for (const id of this.#listeners.keys()) this.tell(id);
  }

  listen(id: AgentEpisodeId): Listener {
    return new Listener((wake) => {
      const listeners = this.#listeners.get(id) ?? new Set();
      this.#listeners.set(id, listeners.add(wake));
      return () => {
        listeners.delete(wake);
        if (listeners.size === 0) this.#listeners.delete(id);
      };
    });
  }
}
