import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { HoldLostError, type StoredAgentEpisode } from '../../agents/arena/trajectories.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { createUnknownEpisodeError } from './episode-errors.ts';
import { OpenEpisode, type OpenEpisodeParts } from './open-episode.ts';
import type { PlayableTask } from './playable-task.ts';

export interface OpenEpisodesParts extends OpenEpisodeParts {
  readonly log: Log;
}

/** The episodes that this process holds, and the verdicts that it takes in the background. */
export class OpenEpisodes {
  readonly #parts: OpenEpisodesParts;
  readonly #open = new Map<AgentEpisodeId, OpenEpisode>();
  readonly #finishing = new Map<AgentEpisodeId, Promise<void>>();

  constructor(parts: OpenEpisodesParts) {
    this.#parts = parts;
  }

  /** Leaves every episode as it is stored. Called when `closing` has been aborted. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#finishing.values());
    await Promise.allSettled([...this.#open.values()].map((each) => each[Symbol.asyncDispose]()));
    this.#open.clear();
  }

  /** Returns the episode, and opens it when this process does not have it. */
  open(id: AgentEpisodeId): OpenEpisode {
    const episode = this.#open.get(id) ?? this.create(id);
    this.#open.set(id, episode);
    return episode;
  }

  /** Begins an episode that was just made. @throws as `OpenEpisode.begin` does; then it is not remembered. */
  async begin(episode: StoredAgentEpisode, task: PlayableTask): Promise<void> {
    try {
      await this.open(episode.id).begin(episode, task);
    } catch (error) {
      this.#forgetUnused(episode.id);
      throw error;
    }
  }

  /** Creates an episode that is not remembered, because it only answers for a closed one. */
  create(id: AgentEpisodeId): OpenEpisode {
    return new OpenEpisode(id, this.#parts);
  }

  /** Returns undefined when this process does not hold it. */
  find(id: AgentEpisodeId): OpenEpisode | undefined {
    return this.#open.get(id);
  }

  /** Takes the verdict in the background. The sweep tries again what cannot be graded now. */
  finish(id: AgentEpisodeId): void {
    if (this.#finishing.has(id)) return;
    const { closing, log, onChange } = this.#parts;
    const finishing = this.open(id)
      .finish()
      .then(
        () => void this.#open.delete(id),
        (error: unknown) => {
          // Another process holds it, and grades it.
          if (error instanceof HoldLostError) return this.#forgetUnused(id);
          if (!closing.aborted) log.warn({ episode: id, error: getMessage(error) }, 'an episode could not be graded');
        },
      )
      .finally(() => {
        this.#finishing.delete(id);
        onChange(id);
      });
    this.#finishing.set(id, finishing);
  }

  /** Gives the episode up, or has it graded where its task says so. */
  async cancel(id: AgentEpisodeId): Promise<StoredAgentEpisode> {
    await this.open(id).cancel();
    return await this.#settle(id);
  }

  /** Ends an episode that has been idle for too long. */
  async endIdle(id: AgentEpisodeId): Promise<void> {
    await this.open(id).lookAtTime();
    await this.#settle(id);
  }

  #forgetUnused(id: AgentEpisodeId): void {
    if (this.#open.get(id)?.isUnused === true) this.#open.delete(id);
  }

  /** Grades an episode that has ended without a reward, and forgets a closed one. */
  async #settle(id: AgentEpisodeId): Promise<StoredAgentEpisode> {
    const episode = await this.#parts.trajectories.find(id);
    if (episode === undefined) throw createUnknownEpisodeError(id);
    if (episode.closed !== undefined) this.#open.delete(id);
    else if (episode.endedBy !== undefined) this.finish(id);
    return episode;
  }
}
