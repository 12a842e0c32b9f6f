import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { HoldLostError } from '../../agents/arena/trajectories.ts';
import type { EpisodeHolding, HeldEpisode, HoldingParts } from './episode-holding.ts';

/** Work on one episode: one piece after the other, each under this process's hold. */
export class HeldTurns {
  readonly #id: AgentEpisodeId;
  readonly #parts: Pick<HoldingParts, 'live' | 'closing'>;
  readonly #holding: EpisodeHolding;
  readonly #leave: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  #left = 0;

  /** @param leave called when another process has held the episode meanwhile: what this one has of its workspace is out of date. */
  constructor(id: AgentEpisodeId, parts: Pick<HoldingParts, 'live' | 'closing'>, holding: EpisodeHolding, leave: () => Promise<void>) {
    this.#id = id;
    this.#parts = parts;
    this.#holding = holding;
    this.#leave = leave;
  }

  /** Whether no work is under way or waits. */
  get areOver(): boolean {
    return this.#left === 0;
  }

  async waitUntilOver(): Promise<void> {
    await this.#last;
  }

  /** Stores the state that the work has left. @param patient whether to wait until another process lets go of the episode. */
  async run<Result>(patient: boolean, work: (held: HeldEpisode) => Promise<Result>): Promise<Result> {
    const before = this.#last;
    this.#left += 1;
    const mine = (async () => {
      await before;
      return await this.#runHeld(patient, work);
    })().finally(() => (this.#left -= 1));
    this.#last = mine.catch(() => undefined);
    return await mine;
  }

  async #runHeld<Result>(patient: boolean, work: (held: HeldEpisode) => Promise<Result>): Promise<Result> {
    const { live, closing } = this.#parts;
    closing.throwIfAborted();
    const held = await this.#takeHold(patient);
    using _kept = this.#holding.keep();
    try {
      const result = await work(held);
      if (held.state.phase.kind === 'closed') await live.remove(this.#id);
      else await live.put(this.#id, { state: held.state, fence: held.hold.fence });
      return result;
    } catch (error) {
      this.#holding.forget();
      await live.remove(this.#id);
      if (error instanceof HoldLostError) await this.#leave();
      throw error;
    }
  }

  async #takeHold(patient: boolean): Promise<HeldEpisode> {
    const before = this.#holding.known;
    const held = await this.#holding.getCurrent(patient).catch(async (error: unknown) => {
      if (error instanceof HoldLostError) await this.#leave();
      throw error;
    });
    if (before !== undefined && held.episode !== before) await this.#leave();
    return held;
  }
}
