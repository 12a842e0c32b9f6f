import type { Bounds } from '../intervals/bounds.ts';
import {
  computeAdjustedInterval,
  computeClopperPearsonInterval,
  createInterval,
  computeStudentInterval,
  type Interval,
  type Proportion,
} from '../intervals/intervals.ts';
import { Moments } from '../intervals/moments.ts';
import type { Score } from './stopping-rule.ts';

/**
 * The interval of values, if there are enough of them.
 *
 * @param twoValued of values that are all exactly on one of the two bounds.
 */
export type IntervalOf = (moments: Moments, confidence: number, twoValued: Proportion | undefined) => Interval | undefined;

/**
 * Episodes of one mean, some perhaps unresolved, and their interval.
 *
 * An unresolved episode could have had any value between its low and its high score. The interval then extends from the low end for all of them at
 * their lowest to the high end for all at their highest, and always includes the interval of the resolved episodes alone: missing data widen it.
 * Without bounds nothing is known about an unresolved episode, and there is no interval.
 */
export class Sample {
  readonly #bounds: Bounds | undefined;
  readonly #intervalOf: IntervalOf;
  #resolved: Stream;
  #unresolved = 0;
  /** All episodes, with the unresolved ones at their lowest and highest. They are kept from the first unresolved one on. */
  #lows: Stream | undefined;
  #highs: Stream | undefined;

  /** @param intervalOf by default the one for a number of episodes that was fixed in advance. */
  constructor(bounds: Bounds | undefined, intervalOf: IntervalOf = createFixedInterval(bounds)) {
    this.#bounds = bounds;
    this.#intervalOf = intervalOf;
    this.#resolved = new Stream(bounds);
  }

  add(score: Score): void {
    if (score.low === score.high) {
      this.#resolved.add(score.low);
      this.#lows?.add(score.low);
      this.#highs?.add(score.high);
      return;
    }
    this.#unresolved += 1;
    if (this.#bounds === undefined) return;
    this.#lows ??= this.#resolved.copy();
    this.#highs ??= this.#resolved.copy();
    this.#lows.add(score.low);
    this.#highs.add(score.high);
  }

  /** Returns the interval as of now, computed only when the returned function is called: a quantile takes many times as long as adding a score. */
  deferInterval(confidence: number): () => Interval | undefined {
    const sample = this.#copy();
    return () => sample.computeInterval(confidence);
  }

  /** Returns a second sample with the same state, independent from here on. */
  #copy(): Sample {
    const copy = new Sample(this.#bounds, this.#intervalOf);
    copy.#resolved = this.#resolved.copy();
    copy.#unresolved = this.#unresolved;
    copy.#lows = this.#lows?.copy();
    copy.#highs = this.#highs?.copy();
    return copy;
  }

  get episodes(): number {
    return this.#resolved.moments.count + this.#unresolved;
  }

  get unresolved(): number {
    return this.#unresolved;
  }

  /** The moments of the resolved episodes. */
  get moments(): Moments {
    return this.#resolved.moments;
  }

  computeInterval(confidence: number): Interval | undefined {
    const resolved = this.#computeInterval(this.#resolved, confidence);
    if (this.#unresolved === 0) return resolved;
    const lowest = this.#lows && this.#computeInterval(this.#lows, confidence);
    const highest = this.#highs && this.#computeInterval(this.#highs, confidence);
    if (lowest === undefined || highest === undefined) return undefined;
    const low = Math.min(lowest.low, resolved?.low ?? Infinity);
    const high = Math.max(highest.high, resolved?.high ?? -Infinity);
    return createInterval(lowest.method, low, high, confidence);
  }

  /** Explains why there can be no interval; undefined when there can be one. */
  explainNoInterval(): string | undefined {
    if (this.#unresolved === 0 || this.#bounds !== undefined) return undefined;
    return `There is no interval: ${this.#unresolved} of ${this.episodes} episodes are unresolved and the suite declares no reward bounds, so nothing limits what they could have returned.`;
  }

  #computeInterval({ moments, twoValued }: Stream, confidence: number): Interval | undefined {
    return this.#intervalOf(moments, confidence, twoValued);
  }
}

/** Chooses the method that fits the values so far: two-valued, bounded or neither. */
function createFixedInterval(bounds: Bounds | undefined): IntervalOf {
  return (moments, confidence, twoValued) => {
    if (moments.count < 2) return undefined;
    if (bounds === undefined) return computeStudentInterval(moments, confidence);
    if (twoValued !== undefined) return computeClopperPearsonInterval(twoValued, confidence, bounds);
    return computeAdjustedInterval(moments, bounds, confidence);
  };
}

/** Values of one mean, and how many of them are on a bound. */
class Stream {
  readonly #bounds: Bounds | undefined;
  readonly moments: Moments;
  #onLow = 0;
  #onHigh = 0;

  constructor(bounds: Bounds | undefined, moments = new Moments()) {
    this.#bounds = bounds;
    this.moments = moments;
  }

  add(value: number): void {
    this.moments.add(value);
    if (value === this.#bounds?.low) this.#onLow += 1;
    else if (value === this.#bounds?.high) this.#onHigh += 1;
  }

  copy(): Stream {
    const copy = new Stream(this.#bounds, this.moments.copy());
    copy.#onLow = this.#onLow;
    copy.#onHigh = this.#onHigh;
    return copy;
  }

  /** It is undefined once a value is on neither bound; a success is the upper one. */
  get twoValued(): Proportion | undefined {
    const trials = this.moments.count;
    return this.#onLow + this.#onHigh === trials ? { successes: this.#onHigh, trials } : undefined;
  }
}
