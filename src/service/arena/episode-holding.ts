import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { EpisodeState } from '../../agents/arena/episode-state.ts';
import type { LiveEpisodes } from '../../agents/arena/live-episodes.ts';
import { createEpisodeState, planEpisode } from '../../agents/arena/plan-episode.ts';
import { readSteps } from '../../agents/arena/shared-steps.ts';
import { HoldLostError, type Hold, type StoredAgentEpisode, type StoredStep, type Trajectories } from '../../agents/arena/trajectories.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import type { OwnerId } from '../../kernel/ids.ts';
import { deriveState, takesSteps } from './episode-course.ts';
import { createUnknownEpisodeError } from './episode-errors.ts';

export interface HoldingParts {
  readonly trajectories: Trajectories;
  readonly live: LiveEpisodes;
  readonly clock: Clock;
  readonly holder: OwnerId;
  /** How long a holder that is gone keeps an episode from others. A hold is renewed after a third of it. */
  readonly holdMilliseconds: number;
  /** Aborted when Muster ends: unfinished work is left to the next process. */
  readonly closing: AbortSignal;
}

/** An episode, for as long as this process may write it. */
export interface HeldEpisode {
  readonly episode: StoredAgentEpisode;
  readonly hold: Hold;
  state: EpisodeState;
}

/** A request for an episode that another process holds waits until that hold expires, and this much longer: most likely that process is gone. */
const LONGER_MS = 5_000;
const ASKED_EACH_MS = 500;
const ALL_STEPS = 100_000;
/** The fence of a closed episode, to which nothing is written any more. */
const NO_FENCE = 0;

/**
 * The hold of this process on one episode, which is the right to write it, and the episode's stored records. While the hold is fresh, no other
 * process can have written, so a step reads nothing. An older hold is renewed first; if another process has held the episode meanwhile, everything is
 * read again.
 */
export class EpisodeHolding {
  readonly #id: AgentEpisodeId;
  readonly #parts: HoldingParts;
  #held: HeldEpisode | undefined;
  #renewedAt = -Infinity;
  #renewing: Promise<unknown> = Promise.resolve();

  constructor(id: AgentEpisodeId, parts: HoldingParts) {
    this.#id = id;
    this.#parts = parts;
  }

  get #renewedEachMs(): number {
    return this.#parts.holdMilliseconds / 3;
  }

  /** What is known without a query. */
  get known(): StoredAgentEpisode | undefined {
    return this.#held?.episode;
  }

  /** Takes the hold on an episode that was just created, unless another process has held it since. */
  async begin(episode: StoredAgentEpisode): Promise<void> {
    const hold = await this.#takeHold(0);
    if (hold.fence === 1) this.#held = { episode, hold, state: createEpisodeState(episode.touchedAt.getTime()) };
  }

  /**
   * @param patient whether to wait until another process's hold expires.
   * @throws InputError `episode.not-found`; HoldLostError when another process has it.
   */
  async getCurrent(patient: boolean): Promise<HeldEpisode> {
    await this.#renewing;
    if (this.#held && this.#parts.clock.now() - this.#renewedAt < this.#renewedEachMs) return this.#held;
    const found = this.#held === undefined ? await this.#findStored() : undefined;
    if (found?.closed)
      return { episode: found, hold: { episode: this.#id, fence: NO_FENCE }, state: deriveState(found, await this.readSteps(found)) };
    const hold = await this.#takeHold(patient ? this.#parts.holdMilliseconds + LONGER_MS : 0);
    if (this.#held?.hold.fence !== hold.fence) this.#held = await this.#load(hold);
    return this.#held;
  }

  /** Renews the hold while something takes long. */
  keep(): Disposable {
    const { clock, closing } = this.#parts;
    let timer: Disposable;
    const again = (): void => {
      if (closing.aborted) return;
      this.#renewing = this.#renew();
      timer = clock.after(this.#renewedEachMs, again);
    };
    timer = clock.after(this.#renewedEachMs, again);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  /** Forgets the hold: work that was begun may not be stored. */
  forget(): void {
    this.#held = undefined;
    this.#renewedAt = -Infinity;
  }

  /** Lets others have it at once. Never rejects: otherwise they get it when the hold expires. */
  async release(): Promise<void> {
    const held = this.#held;
    this.forget();
    if (held === undefined || held.episode.closed !== undefined) return;
    await this.#parts.trajectories.hold(this.#id, this.#parts.holder, 0).catch(() => undefined);
  }

  readSteps(episode: StoredAgentEpisode): Promise<readonly StoredStep[]> {
    return readSteps(this.#parts.trajectories, episode, 0, ALL_STEPS);
  }

  /** Never rejects: a failed renewal is repeated when the hold is needed. */
  async #renew(): Promise<void> {
    try {
      const { fence } = await this.#takeHold(0);
      if (this.#held?.hold.fence !== fence) this.forget();
    } catch {
      this.#renewedAt = -Infinity;
    }
  }

  async #takeHold(patienceMs: number): Promise<Hold> {
    const { trajectories, holder, holdMilliseconds, clock, closing } = this.#parts;
    const deadline = clock.now() + patienceMs;
    for (;;) {
      const asked = clock.now();
      const hold = await trajectories.hold(this.#id, holder, holdMilliseconds);
      if (hold) {
        this.#renewedAt = asked;
        return hold;
      }
      if (clock.now() >= deadline) throw new HoldLostError(this.#id);
      await sleep(clock, ASKED_EACH_MS, closing);
    }
  }

  async #findStored(): Promise<StoredAgentEpisode> {
    const episode = await this.#parts.trajectories.find(this.#id);
    if (episode === undefined) throw createUnknownEpisodeError(this.#id);
    return episode;
  }

  /** Loads the live tier's state, unless the store knows more. */
  async #load(hold: Hold): Promise<HeldEpisode> {
    const episode = await this.#findStored();
    const known = await this.#parts.live.get(this.#id);
    const isCurrent = known?.state.answered.length === episode.steps && takesSteps(known.state) === (episode.endedBy === undefined);
    if (!isCurrent || episode.closed !== undefined) return { episode, hold, state: deriveState(episode, await this.readSteps(episode)) };
    const touchedAt = episode.touchedAt.getTime();
    return { episode, hold, state: planEpisode({ ...known.state, touchedAt }, { kind: 'lost' }, episode.limits, touchedAt).state };
  }
}
