import type { EpisodeIndex } from '../kernel/ids.ts';

/** An episode as it is sent to a runner: everything that decides its outcome but the checkpoint and the suite. */
export interface PlannedEpisode {
  readonly index: EpisodeIndex;
  /** Position in the suite's list of tasks. */
  readonly task: number;
  readonly environmentSeed: number;
  readonly policySeed: number;
}

/** Consecutive work that travels to a runner together; how it is cut never shows in the result. */
export interface EpisodeRange {
  /** Unique within a session. */
  readonly id: number;
  readonly episodes: readonly PlannedEpisode[];
}

/**
 * Which episodes a runner owes, in the order in which it has to answer.
 *
 * A range is *waiting* from being sent until the runner says that it has begun it; from then on exactly one episode is
 * *due*: the next that has no outcome. Only the due episode may be answered. What happens can be blamed on it and on those of its block
 * that have no outcome either: they are being played together. Without batching a block is one episode.
 */
export class Playlist {
  readonly #ranges: EpisodeRange[] = [];
  #begun = false;
  #position = 0;
  #blockSize = 1;

  /** For ranges that are added from now on, each of which has whole blocks. Not to be called while any are left. */
  playInBlocks(size: number): void {
    this.#blockSize = size;
  }

  add(range: EpisodeRange): void {
    if (range.episodes.length > 0) this.#ranges.push(range);
  }

  get ranges(): number {
    return this.#ranges.length;
  }

  /** Without an outcome, over all ranges. */
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

  /** @returns what is wrong when it is not this range's turn. */
  begin(rangeId: number): string | undefined {
    const head = this.#ranges[0];
    if (!head || this.#begun || head.id !== rangeId) return `range ${rangeId} began out of turn`;
    this.#begun = true;
    return undefined;
  }

  /** Takes the due episode off the list. @returns what is wrong when another one, or none, is due. */
  answer(rangeId: number, index: number): string | undefined {
    const { due } = this;
    if (!due || this.#ranges[0]?.id !== rangeId || due.index !== index)
      return `an outcome for episode ${index} of range ${rangeId} was not due`;
    this.#advance(1);
    return undefined;
  }

  /** Takes the due episode, and those behind it in its block, off the list unanswered. */
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

  /** Takes off and returns all that is left. */
  drain(): readonly PlannedEpisode[] {
    const left = this.#ranges.flatMap((range, i) => (i === 0 ? range.episodes.slice(this.#position) : range.episodes));
    this.#ranges.length = 0;
    this.#position = 0;
    this.#begun = false;
    return left;
  }
}
