import { AsymptoticSequence, FEWEST_VALUES } from './asymptotic-sequence.ts';
import type { Bounds } from '../intervals/bounds.ts';
import { computeHalfWidth, type Interval } from '../intervals/intervals.ts';
import { Sample } from './sample.ts';
import type { Score, StoppingRule } from './stopping-rule.ts';

/** While nearly all returns are equal, their deviation says nothing about the rare others, so at least this many of them have to be seen. */
const FEWEST_OFF_MODE = 10;

const PRICE_OF_SPREAD = 2.4;
const JUST_NARROW = 0.98;

export interface AsymptoticRuleOptions {
  /** The half-width in units of the return. */
  readonly halfWidth: number;
  readonly confidence: number;
  readonly tightestAt: number;
}

/**
 * Stops at the first episode at which the asymptotic confidence sequence is as narrow as requested. Needs no bounds on the return. With bounds,
 * pseudo-episodes on them represent what has not occurred yet, and an unresolved episode counts at both of them. Without bounds, one unresolved
 * episode removes the interval, and the rule is never satisfied.
 */
export class AsymptoticRule implements StoppingRule {
  readonly targetHalfWidth: number;
  readonly confidence: number;
  readonly #bounds: Bounds | undefined;
  readonly #sequence: AsymptoticSequence;
  readonly #sample: Sample;
  readonly #offMode = new OffMode();

  /** @throws RangeError when an option is out of its range. */
  constructor({ halfWidth, confidence, tightestAt }: AsymptoticRuleOptions, bounds: Bounds | undefined) {
    if (!(halfWidth > 0)) throw new RangeError(`expected a positive half-width, got ${halfWidth}`);
    const sequence = new AsymptoticSequence({ confidence, tightestAt });
    this.targetHalfWidth = halfWidth;
    this.confidence = confidence;
    this.#bounds = bounds;
    this.#sequence = sequence;
    this.#sample = new Sample(bounds, (moments) => (moments.isSpreadHeld ? sequence.computeInterval(moments, bounds) : undefined));
  }

  /**
   * The price that the coverage study shows for normal returns. It is undefined when the interval is narrower than requested: then something other
   * than the spread delayed the stop.
   */
  get priceOfSpread(): number | undefined {
    const interval = this.computeInterval();
    return interval !== undefined && computeHalfWidth(interval) > JUST_NARROW * this.targetHalfWidth ? PRICE_OF_SPREAD : undefined;
  }

  fold(score: Score): void {
    const { returned = score } = score;
    this.#sample.add(score);
    if (returned.low === returned.high) this.#offMode.add(returned.low);
  }

  isSatisfied(): boolean {
    const interval = this.computeInterval();
    return interval !== undefined && computeHalfWidth(interval) <= this.targetHalfWidth;
  }

  /** Returns undefined before 64 episodes are resolved and 10 of them differ from the most frequent return. */
  computeInterval(): Interval | undefined {
    return this.#isEnough() ? this.#sample.computeInterval(this.confidence) : undefined;
  }

  /** Computes the interval at once, as it is cheap. */
  deferInterval(): () => Interval | undefined {
    const interval = this.computeInterval();
    return () => interval;
  }

  estimateRemaining(): number {
    if (this.isSatisfied()) return 0;
    return Math.max(this.#countUntilOffMode(), this.#countUntilNarrow());
  }

  listWarnings(): readonly string[] {
    const reason = this.#sample.explainNoInterval();
    if (reason !== undefined) return [`${reason} The stopping rule "asymptotic" cannot be satisfied without one.`];
    if (this.#isEnough()) return [];
    return [
      `There is no interval: the stopping rule "asymptotic" needs ${FEWEST_VALUES} resolved episodes, of which ${FEWEST_OFF_MODE} differ from the most frequent return; of ${this.#sample.moments.count}, ${this.#offMode.count} did.`,
    ];
  }

  #isEnough(): boolean {
    return this.#sample.moments.count >= FEWEST_VALUES && this.#offMode.count >= FEWEST_OFF_MODE;
  }

  /** Estimates the episodes until enough returns differ from the most frequent one, at the rate so far. */
  #countUntilOffMode(): number {
    const { count } = this.#offMode;
    return Math.ceil((Math.max(0, FEWEST_OFF_MODE - count) * this.#sample.episodes) / Math.max(1, count));
  }

  /** Counts the episodes, from 1 on, if the returns continue as before and no further episode stays unresolved. */
  #countUntilNarrow(): number {
    const { episodes, unresolved, moments } = this.#sample;
    if (moments.count < 2) return FEWEST_VALUES;
    // Average uncertainty that unresolved episodes add in either direction.
    const doubt = unresolved === 0 ? 0 : (unresolved * this.#getRange()) / 2;
    const interval = this.computeInterval();
    // Unresolved episodes add to the spread as well.
    const widening = interval === undefined ? 1 : (computeHalfWidth(interval) - doubt / episodes) / this.#forecastHalfWidth(0);
    return findLeastWhole((more) => widening * this.#forecastHalfWidth(more) + doubt / (episodes + more) <= this.targetHalfWidth);
  }

  /** Forecasts the half-width for the resolved episodes and this many more; Infinity where there is no interval. */
  #forecastHalfWidth(more: number): number {
    const { count, mean, variance = Infinity } = this.#sample.moments;
    const later = count + more;
    const interval = this.#sequence.computeInterval({ count: later, mean, sumOfSquares: (later - 1) * variance }, this.#bounds);
    return interval === undefined ? Infinity : computeHalfWidth(interval);
  }

  #getRange(): number {
    return this.#bounds === undefined ? Infinity : this.#bounds.high - this.#bounds.low;
  }
}

/**
 * Counts the values that differ from the most frequent one, up to 10. It is exact, with bounded state: of eleven distinct values, all but the most
 * frequent one differ from it, so the count ends there at the latest.
 */
class OffMode {
  readonly #times = new Map<number, number>();
  #values = 0;
  #mostFrequent = 0;

  add(value: number): void {
    if (this.count >= FEWEST_OFF_MODE) return;
    const times = (this.#times.get(value) ?? 0) + 1;
    this.#times.set(value, times);
    this.#values += 1;
    this.#mostFrequent = Math.max(this.#mostFrequent, times);
  }

  get count(): number {
    return this.#values - this.#mostFrequent;
  }
}

/** Finds the least whole number from 1 on for which `holds` is true, where it stays true from there on; the greatest safe one if there is none. */
function findLeastWhole(holds: (whole: number) => boolean): number {
  let high = 1;
  while (!holds(high)) {
    if (high === Number.MAX_SAFE_INTEGER) return high;
    high = Math.min(2 * high, Number.MAX_SAFE_INTEGER);
  }
  let below = Math.floor(high / 2);
  while (high - below > 1) {
    const middle = below + Math.floor((high - below) / 2);
    if (holds(middle)) high = middle;
    else below = middle;
  }
  return high;
}
