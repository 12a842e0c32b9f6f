import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import { NO_ATTEMPTS, type LostAttempts } from './retry.ts';

/**
 * Consecutive indices that one runner plays together; without batching, a single one. Outcomes depend on the whole block, so it is
 * dispatched whole even when some outcomes are known: these stay, and repeated ones have to be equal.
 */
export class Block {
  /** Blocks are numbered from 0. */
  readonly number: number;
  readonly episodes: readonly PlannedEpisode[];
  attempts: LostAttempts = NO_ATTEMPTS;
  #unsettled: number;
  /** Flags by position, used only for blocks of several episodes. */
  readonly #settled: boolean[] = [];

  constructor(number: number, episodes: readonly PlannedEpisode[]) {
    this.number = number;
    this.episodes = episodes;
    this.#unsettled = episodes.length;
  }

  /** Whether every episode has its outcome. */
  get isSettled(): boolean {
    return this.#unsettled === 0;
  }

  /** Records that the episode has its outcome. @returns undefined when it had one before. */
  settle(index: EpisodeIndex): PlannedEpisode | undefined {
    const position = index - this.number * this.episodes.length;
    if (this.#unsettled === 0 || this.#settled[position]) return undefined;
    this.#unsettled -= 1;
    if (this.#unsettled > 0) this.#settled[position] = true;
    return this.episodes[position];
  }

  /** Lists the episodes without an outcome. */
  listUnsettled(): readonly PlannedEpisode[] {
    return this.isSettled ? [] : this.episodes.filter((_, position) => !this.#settled[position]);
  }
}
