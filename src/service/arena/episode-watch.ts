import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { readSteps } from '../../agents/arena/shared-steps.ts';
import type { StoredAgentEpisode, StoredStep, Trajectories } from '../../agents/arena/trajectories.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ChangeListeners } from '../playing/change-listeners.ts';

export interface WatchParts {
  readonly trajectories: Trajectories;
  readonly clock: Clock;
  /** Ends every wait. */
  readonly closing: AbortSignal;
}

const STEPS_AT_A_TIME = 100;
/** Changes by other processes are not announced: a wait looks again by itself. */
const LOOK_AGAIN_MS = 2000;

/** Waits for stored changes of episodes, by whichever process makes them. */
export class EpisodeWatch {
  readonly #parts: WatchParts;
  readonly #listeners = new ChangeListeners<AgentEpisodeId>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
    parts.closing.addEventListener('abort', () => this.#listeners.notifyAll(), { once: true });
  }

  /** Wakes the waits for an episode that this process has changed. */
  notify(id: AgentEpisodeId): void {
    this.#listeners.notify(id);
  }

  /** @returns the closed episode; undefined when it was still open after `milliseconds`, when `gone`, or at the close of Muster. */
  async waitUntilClosed(episode: StoredAgentEpisode, milliseconds: number, gone: AbortSignal): Promise<StoredAgentEpisode | undefined> {
    const { clock, trajectories, closing } = this.#parts;
    const deadline = clock.now() + milliseconds;
    using listener = this.#listeners.listen(episode.id);
    for (;;) {
      const now = (await trajectories.find(episode.id)) ?? episode;
      if (now.closed !== undefined) return now;
      const left = deadline - clock.now();
      if (left <= 0 || gone.aborted || closing.aborted) return undefined;
      await listener.next(clock, Math.min(left, LOOK_AGAIN_MS), gone);
    }
  }

  /** Yields the steps after number `after` as they are stored, and the episode once it is closed. Ends with that, or with the signal. */
  async *follow(id: AgentEpisodeId, after: number, signal: AbortSignal): AsyncGenerator<StoredStep | StoredAgentEpisode> {
    const { trajectories, clock, closing } = this.#parts;
    const either = AbortSignal.any([signal, closing]);
    using listener = this.#listeners.listen(id);
    let seen = after;
    while (!either.aborted) {
      const episode = await trajectories.find(id);
      for (;;) {
        const steps = episode === undefined ? [] : await readSteps(trajectories, episode, seen, STEPS_AT_A_TIME);
        yield* steps;
        seen = steps.at(-1)?.number ?? seen;
        if (steps.length < STEPS_AT_A_TIME) break;
      }
      if (episode === undefined) return;
      if (episode.closed !== undefined) return yield episode;
      await listener.next(clock, LOOK_AGAIN_MS, either);
    }
  }
}
