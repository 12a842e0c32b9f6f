import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { LiveEpisode, LiveEpisodes } from '../../agents/arena/live-episodes.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage, InfrastructureError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';

/** After a failure no request is sent for this long, so that a hanging server does not slow down every step. */
const PAUSE_MS = 5000;

/** Live episodes of which nothing need survive: while their server fails, nothing is known, and each step goes by what is stored. */
export class ForgivingLiveEpisodes implements LiveEpisodes {
  readonly #inner: LiveEpisodes;
  readonly #clock: Clock;
  readonly #log: Log;
  #pausedUntil = -Infinity;

  constructor(inner: LiveEpisodes, clock: Clock, log: Log) {
    this.#inner = inner;
    this.#clock = clock;
    this.#log = log;
  }

  get(id: AgentEpisodeId): Promise<LiveEpisode | undefined> {
    return this.#tryOr(() => this.#inner.get(id), undefined);
  }

  put(id: AgentEpisodeId, episode: LiveEpisode): Promise<boolean> {
    return this.#tryOr(() => this.#inner.put(id, episode), false);
  }

  remove(id: AgentEpisodeId): Promise<void> {
    return this.#tryOr(() => this.#inner.remove(id), undefined);
  }

  async #tryOr<Answer>(ask: () => Promise<Answer>, otherwise: Answer): Promise<Answer> {
    if (this.#clock.now() < this.#pausedUntil) return otherwise;
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof InfrastructureError)) throw error;
      this.#pausedUntil = this.#clock.now() + PAUSE_MS;
      this.#log.warn({ error: getMessage(error) }, 'the live state of episodes cannot be used; steps go by what is stored');
      return otherwise;
    }
  }
}
