import type { EpisodeIndex } from '../kernel/ids.ts';

/** An episode as it is sent to a runner: everything that decides its outcome except the checkpoint and the suite. */
export interface PlannedEpisode {
  readonly index: EpisodeIndex;
  /** Position in the suite's list of tasks. */
  readonly task: number;
  readonly environmentSeed: number;
  readonly policySeed: number;
}

/** Consecutive episodes that are sent to a runner together. The result does not depend on how ranges are cut. */
export interface EpisodeRange {
  /** Unique within a session. */
  readonly id: number;
  readonly episodes: readonly PlannedEpisode[];
}

/**
 * Knows which episodes a runner owes, in the order in which it has to answer.
 *
 * A range is *waiting* from being sent until the runner reports its beginning; from then on exactly one episode is *due*: the next without an
 * outcome. Only the due episode may be answered. A failure is attributed to it and to those of its block without an outcome, as they are played
 * together. Without batching a block is one episode.
 */
export class Playlist {
  readonly #ranges: EpisodeRange[] = [];
  #begun = false;
  #position = 0;
  #blockSize = 1;

  /** Applies to ranges that are added from now on, each of which has whole blocks. Call it only while none are left. */
  playInBlocks(size: number): void {
    this.#blockSize = size;
  }

  add(range: EpisodeRange): void {
    if (range.episodes.length > 0) this.#ranges.push(range);
  }

  get ranges(): number {
    return this.#ranges.length;
  }

  /** Episodes without an outcome, over all ranges. */
  get episodes(): number {
    return this.#ranges.reduce((sum, range) => sum + range.episodes.length, 0) - this.#position;
  }

  get due(): PlannedEpisode | undefined {
    return this.#begun ? this.#ranges[0]?.episodes[this.#position] : undefined;
  }

  /** Whether the due episode is the first of its block. */
  get isAtBlockStart(): boolean {
    return this.#position % this.#blockSize === 0;
  }

  /** @returns an error text when it is not this range's turn. */
  begin(rangeId: number): string | undefined {
    const head = this.#ranges[0];
    if (!head || this.#begun || head.id !== rangeId) return `range ${rangeId} began out of turn`;
    this.#begun = true;
    return undefined;
  }

  /** Removes the due episode. @returns an error text when another one, or none, is due. */
  answer(rangeId: number, index: number): string | undefined {
    const { due } = this;
    if (!due || this.#ranges[0]?.id !== rangeId || due.index !== index)
      return `an outcome for episode ${index} of range ${rangeId} was not due`;
    this.#advance(1);
    return undefined;
  }

  /** Removes the due episode and the later ones of its block, unanswered. */
  takeUnansweredBlock(): readonly PlannedEpisode[] {
    const head = this.#ranges[0];
    if (!head || !this.#begun) return [];
    const end = Math.min(head.episodes.length, this.#position + this.#blockSize - (this.#position % this.#blockSize));
    const unanswered = head.episodes.slice(this.#position, end);
    this.#advance(unanswered.length);
    return unanswered;
  }

  #advance(episodes: number): void {
    this.#position += episodes;
    if (this.#position === this.#ranges[0]?.episodes.length) {
      this.#ranges.shift();
      this.#position = 0;
      this.#begun = false;
    }
  }

  /** Removes and returns all that is left. */
  drain(): readonly PlannedEpisode[] {
    const left = this.#ranges.flatMap((range, i) => (i === 0 ? range.episodes.slice(this.#position) : range.episodes));
    this.#ranges.length = 0;
    this.#position = 0;
    this.#begun = false;
    return left;
  }
}
