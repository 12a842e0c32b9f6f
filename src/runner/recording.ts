import type { RecordedFrame } from './frames.ts';

/** What a runner recorded of an episode. */
export interface Recording {
  /** The reward of each step; null where it was infinite or not a number. */
  readonly rewards: readonly (number | null)[];
  /** Pictures in the order of their steps. */
  readonly pictures: readonly RecordedPicture[];
  /** Why pictures are missing. */
  readonly remarks: readonly string[];
}

export interface RecordedPicture {
  /** The step after which it was taken; 0 for the reset. */
  readonly step: number;
  /** The picture in base64. */
  readonly png: string;
}

/** Bounds of one recording. Muster's own runner has lower ones. */
const MOST_REWARDS = 1_000_000;
const MOST_PICTURES = 500;
const MOST_REMARKS = 16;

/** Collects the recording that a runner sends of one episode. The runner is untrusted, so its size is bounded. */
export class RecordingInProgress {
  readonly #rewards: (number | null)[] = [];
  readonly #pictures: RecordedPicture[] = [];
  readonly #remarks: string[] = [];

  /** @returns what is wrong with the frame, if anything. */
  add({ step, rewards, picture, remark }: RecordedFrame): string | undefined {
    if (rewards) {
      if (step !== this.#rewards.length + 1) return `rewards from step ${step} on, expected ${this.#rewards.length + 1}`;
      this.#rewards.push(...rewards);
    }
    if (picture !== undefined) {
      if (step <= (this.#pictures.at(-1)?.step ?? -1)) return `a picture of step ${step} after a later one`;
      this.#pictures.push({ step, png: picture });
    }
    if (remark !== undefined) this.#remarks.push(remark);
    const isWithinBounds =
      this.#rewards.length <= MOST_REWARDS && this.#pictures.length <= MOST_PICTURES && this.#remarks.length <= MOST_REMARKS;
    return isWithinBounds
      ? undefined
      : `a recording of more than ${MOST_REWARDS} rewards, ${MOST_PICTURES} pictures or ${MOST_REMARKS} remarks`;
  }

  take(): Recording {
    return { rewards: this.#rewards.splice(0), pictures: this.#pictures.splice(0), remarks: this.#remarks.splice(0) };
  }
}
