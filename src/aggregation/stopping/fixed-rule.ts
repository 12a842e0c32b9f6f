import type { Bounds } from '../intervals/bounds.ts';
import type { Interval } from '../intervals/intervals.ts';
import { Sample } from './sample.ts';
import type { Score, StoppingRule } from './stopping-rule.ts';

/** Stops after a number of episodes that was given in advance. */
export class FixedRule implements StoppingRule {
  readonly targetHalfWidth = undefined;
  readonly priceOfSpread = undefined;
  readonly #episodes: number;
  readonly confidence: number;
  readonly #sample: Sample;

  constructor(episodes: number, confidence: number, bounds: Bounds | undefined) {
    this.#episodes = episodes;
    this.confidence = confidence;
    this.#sample = new Sample(bounds);
  }

  fold(score: Score): void {
    this.#sample.add(score);
  }

  isSatisfied(): boolean {
    return this.#sample.episodes >= this.#episodes;
  }

  computeInterval(): Interval | undefined {
    return this.#sample.computeInterval(this.confidence);
  }

  deferInterval(): () => Interval | undefined {
    return this.#sample.deferInterval(this.confidence);
  }

  estimateRemaining(): number {
    return Math.max(0, this.#episodes - this.#sample.episodes);
  }

  listWarnings(): readonly string[] {
    const reason = this.#sample.explainNoInterval();
    return reason === undefined ? [] : [reason];
  }
}
