import type { Bounds } from './bounds.ts';
import { adjustedInterval, interval, studentInterval, wilsonInterval } from './intervals.ts';
import type { Interval } from './intervals.ts';
import { Moments } from './moments.ts';
import type { Score } from './stopping-rule.ts';

/**
 * Episodes of one mean, some perhaps unresolved, and the interval for a number of episodes that was fixed in advance.
 *
 * An unresolved episode could have come to anything between its low and its high score. The interval then reaches from the low end for
 * all of them at their lowest to the high end for all at their highest, and it always holds the interval of the resolved episodes alone:
 * missing data widen it. Without bounds nothing is known about an unresolved episode, and there is no interval.
 */
export class Sample {
  readonly #bounds: Bounds | undefined;
  readonly #resolved: Stream;
  #unresolved = 0;
  /** All episodes, the unresolved ones at their lowest and highest; kept apart from the first unresolved one on. */
  #lows: Stream | undefined;
  #highs: Stream | undefined;

  constructor(bounds: Bounds | undefined) {
    this.#bounds = bounds;
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

  get episodes(): number {
    return this.#resolved.moments.count + this.#unresolved;
  }

  get unresolved(): number {
    return this.#unresolved;
  }

  /** Of the resolved episodes. */
  get moments(): Moments {
    return this.#resolved.moments;
  }

  interval(confidence: number): Interval | undefined {
    const resolved = this.#resolved.interval(confidence);
    if (this.#unresolved === 0) return resolved;
    const lowest = this.#lows?.interval(confidence);
    const highest = this.#highs?.interval(confidence);
    if (lowest === undefined || highest === undefined) return undefined;
    const low = Math.min(lowest.low, resolved?.low ?? Infinity);
    const high = Math.max(highest.high, resolved?.high ?? -Infinity);
    return interval(lowest.method, low, high, confidence);
  }
}

/** Values of one mean, and the method that fits what they have been so far: two-valued, bounded or neither. */
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

  interval(confidence: number): Interval | undefined {
    const { count } = this.moments;
    if (count < 2) return undefined;
    if (this.#bounds === undefined) return studentInterval(this.moments, confidence);
    if (this.#onLow + this.#onHigh === count) return wilsonInterval({ successes: this.#onHigh, trials: count }, confidence, this.#bounds);
    return adjustedInterval(this.moments, this.#bounds, confidence);
  }
}
