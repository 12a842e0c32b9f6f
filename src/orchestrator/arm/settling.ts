import type { Bounds } from '../../aggregation/intervals/bounds.ts';
import { judge } from '../../aggregation/folding/scoring.ts';
import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { Dispatcher, Settled } from './dispatcher.ts';
import type { RepeatedPlays } from './repeated-plays.ts';
import { dropDetail } from './without-detail.ts';

/** An episode whose outcome is final. */
export interface SettledEpisode {
  readonly played: PlayedEpisode;
  readonly planned: PlannedEpisode;
  readonly outcome: Outcome;
}

/** Decides which outcome of an episode is final: the first that is not lost, or the loss of its last attempt. */
export class Settling {
  readonly #dispatcher: Dispatcher;
  readonly #repeated: RepeatedPlays;
  readonly #blockSize: number;
  readonly #bounds: Bounds | undefined;
  #sharedFailures = 0;

  constructor(dispatcher: Dispatcher, repeated: RepeatedPlays, blockSize: number, bounds: Bounds | undefined) {
    this.#dispatcher = dispatcher;
    this.#repeated = repeated;
    this.#blockSize = blockSize;
    this.#bounds = bounds;
  }

  /** Episodes that failed together with others of their block, for one cause. */
  get sharedFailures(): number {
    return this.#sharedFailures;
  }

  /** Returns nothing when this outcome is not final, and several episodes when a block is given up. */
  settle(played: PlayedEpisode): readonly SettledEpisode[] {
    const { index, outcome } = played;
    if (outcome.kind === 'lost') return this.#onLoss(played, outcome.detail);
    const judged = judge(outcome, this.#bounds);
    const settled = this.#dispatcher.settle(index, played.seconds * 1000);
    if (!settled) {
      this.#repeated.compare(index, judged);
      if (!this.#dispatcher.isOut(index)) this.#forgetAtEnd(index);
      return [];
    }
    this.#keepFirst(settled, judged);
    if (played.sharesFailure) this.#sharedFailures += 1;
    return [{ played, planned: settled.episode, outcome: judged }];
  }

  /** Plays the episode's block again, leaves the decision to another copy, or makes the loss final for its episodes without an outcome. */
  #onLoss(played: PlayedEpisode, detail: string): readonly SettledEpisode[] {
    const decision = this.#dispatcher.recordLoss(played.index, detail, played.killed);
    if (decision?.kind !== 'final') return [];
    const { episodes, outcome } = decision;
    return episodes.flatMap((planned) => {
      const settled = this.#dispatcher.settle(planned.index, played.seconds * 1000);
      if (!settled) return [];
      this.#keepFirst(settled, outcome);
      return [{ played: { ...played, index: planned.index }, planned, outcome }];
    });
  }

  #keepFirst({ episode, mayComeAgain }: Settled, outcome: Outcome): void {
    if (mayComeAgain) this.#repeated.keep(episode.index, dropDetail(outcome));
    else this.#forgetAtEnd(episode.index);
  }

  /** A copy of a block ends with the last of its episodes. */
  #forgetAtEnd(index: EpisodeIndex): void {
    const end = index + 1;
    if (end % this.#blockSize === 0) this.#repeated.forget(end - this.#blockSize, end);
  }
}
