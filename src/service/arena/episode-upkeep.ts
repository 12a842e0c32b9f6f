import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { FileContents } from '../../agents/arena/step-files.ts';
import type { StoredAgentEpisode, Trajectories } from '../../agents/arena/trajectories.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';

export interface UpkeepParts {
  readonly trajectories: Trajectories;
  readonly contents: FileContents;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns how long episodes are kept after their end. */
  readonly retentionDays: () => number;
  /** Takes the verdict of an episode that has ended. */
  readonly finish: (id: AgentEpisodeId) => void;
  /** Ends an episode that has had no request for too long. */
  readonly endIdle: (id: AgentEpisodeId) => Promise<void>;
}

/** Episodes that are checked in one sweep. */
const SWEPT = 1000;
/** Trees removed in one sweep: each takes a write, and none is urgent. */
const FORGOTTEN = 100;
const DAY_MS = 86_400_000;

/** Upkeep that needs no request: grades episodes that another process has left, ends idle ones, and removes old ones. */
export class EpisodeUpkeep {
  readonly #parts: UpkeepParts;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async sweep(closing: AbortSignal): Promise<void> {
    try {
      await this.#lookAtUnclosed(closing);
      await this.#forgetOld(closing);
    } catch (error) {
      this.#parts.log.warn({ error: getMessage(error) }, 'the upkeep of episodes failed');
    }
  }

  async #lookAtUnclosed(closing: AbortSignal): Promise<void> {
    const { trajectories, finish, endIdle, log } = this.#parts;
    for (const episode of await trajectories.listUnclosed(SWEPT)) {
      if (closing.aborted) return;
      if (episode.endedBy !== undefined) finish(episode.id);
      else if (this.#isIdle(episode))
        await endIdle(episode.id).catch((error: unknown) => {
          log.warn({ episode: episode.id, error: getMessage(error) }, 'an idle episode could not be ended');
        });
    }
  }

  #isIdle({ touchedAt, limits }: StoredAgentEpisode): boolean {
    return this.#parts.clock.date().getTime() - touchedAt.getTime() >= limits.idleSeconds * 1000;
  }

  /** Forgets the files first: should this end in between, the rest is still known to be old. */
  async #forgetOld(closing: AbortSignal): Promise<void> {
    const { trajectories, contents, retentionDays } = this.#parts;
    const age = retentionDays() * DAY_MS;
    for (const tree of await trajectories.listClosedTrees(age, FORGOTTEN)) {
      if (closing.aborted) return;
      await contents.forget(tree);
      await trajectories.forgetTree(tree, age);
    }
  }
}
