import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import { NO_ATTEMPTS, type LostAttempts } from './retry.ts';

/**
 * Consecutive indices that one runner plays together: a single one without batching. Outcomes depend on the whole of it, so it goes out whole, also when
 * some of its outcomes are known already: they stay what they are, and what comes again has to be the same.
 */
export class Block {
  /** Blocks are counted from 0 on. */
  readonly number: number;
  readonly episodes: readonly PlannedEpisode[];
  attempts: LostAttempts = NO_ATTEMPTS;
  #unsettled: number;
  /** By position; only where there is more than one. */
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

  /** The episode has its outcome now. @returns undefined when it had one before. */
  settle(index: EpisodeIndex): PlannedEpisode | undefined {
    const position = index - this.number * this.episodes.length;
    if (this.#unsettled === 0 || this.#settled[position]) return undefined;
    this.#unsettled -= 1;
    if (this.#unsettled > 0) this.#settled[position] = true;
    return this.episodes[position];
  }

  /** Those without an outcome. */
  listUnsettled(): readonly PlannedEpisode[] {
    return this.isSettled ? [] : this.episodes.filter((_, position) => !this.#settled[position]);
  }
}
