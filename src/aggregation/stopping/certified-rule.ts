import { scaleFromUnit, type Bounds } from '../intervals/bounds.ts';
import { ConfidenceSequence } from './certified.ts';
import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import { createInterval, type Interval } from '../intervals/intervals.ts';
import { Moments } from '../intervals/moments.ts';
import type { Score, StoppingRule } from './stopping-rule.ts';

/** Bounds are called loose when they require this many times the episodes that the spread of the returns requires … */
const LOOSE_FACTOR = 4;
/** … and the returns keep this share of the range away from both of them. A policy that reaches a bound does not make it loose. */
const LOOSE_MARGIN = 0.1;

/** Stops at the first episode at which the confidence sequence is as narrow as requested. Needs bounds on the return. */
export class CertifiedRule implements StoppingRule {
  readonly targetHalfWidth: number;
  /** The coverage study shows 1.6 for successes and failures that are equally frequent, and up to 2 for rare failures. */
  readonly priceOfSpread = 1.7;
  readonly confidence: number;
  readonly #bounds: Bounds;
  readonly #sequence: ConfidenceSequence;
  /** The moments of the resolved episodes. */
  readonly #returns = new Moments();
  #episodes = 0;

  /** @param halfWidth in units of the return; less than half of the range. @throws RangeError when it is not. */
  constructor(halfWidth: number, confidence: number, bounds: Bounds) {
    this.targetHalfWidth = halfWidth;
    this.confidence = confidence;
    this.#bounds = bounds;
    this.#sequence = new ConfidenceSequence({ halfWidth: halfWidth / (bounds.high - bounds.low), confidence });
  }

  fold(score: Score): void {
    const { low, high, returned = score, range = this.#bounds } = score;
    this.#episodes += 1;
    if (returned.low === returned.high) this.#returns.add(returned.low);
    // Keeps a value in its range despite rounding.
    const { low: lowest, high: highest } = this.#bounds;
    const toUnit = (value: number): number => (Math.min(Math.max(value, range.low), range.high) - lowest) / (highest - lowest);
    this.#sequence.fold(toUnit(low), toUnit(high), { low: toUnit(range.low), high: toUnit(range.high) });
  }

  isSatisfied(): boolean {
    const range = this.#bounds.high - this.#bounds.low;
    return ((this.#sequence.high - this.#sequence.low) / 2) * range <= this.targetHalfWidth;
  }

  computeInterval(): Interval | undefined {
    if (this.#episodes === 0) return undefined;
    const low = scaleFromUnit(this.#sequence.low, this.#bounds);
    const high = scaleFromUnit(this.#sequence.high, this.#bounds);
    return createInterval('certified', low, high, this.confidence);
  }

  /** Computes the interval at once, as it is cheap. */
  deferInterval(): () => Interval | undefined {
    const interval = this.computeInterval();
    return () => interval;
  }

  estimateRemaining(): number {
    return this.isSatisfied() ? 0 : this.#sequence.estimateRemaining();
  }

  listWarnings(): readonly string[] {
    const warnings: string[] = [];
    if (this.#sequence.contradicted)
      warnings.push(
        'The returns contradict every mean: their distribution changes along the indices, and the interval cannot be relied on.',
      );
    const loose = this.#warnOfLooseBounds();
    if (loose !== undefined) warnings.push(loose);
    return warnings;
  }

  /**
   * However little the returns vary, ln(2/α)/2h episodes are needed even with all of the capital at risk, and some 0.6·ln(2/α)/h with the actual
   * bets.
   */
  #warnOfLooseBounds(): string | undefined {
    const { low, high } = this.#bounds;
    const { min, max, variance } = this.#returns;
    if (min === undefined || max === undefined || variance === undefined) return undefined;
    const range = high - low;
    if (min - low < LOOSE_MARGIN * range || high - max < LOOSE_MARGIN * range) return undefined;
    const floor = (0.6 * Math.log(2 / (1 - this.confidence)) * range) / this.targetHalfWidth;
    const bySpread = (computeNormalQuantile((1 + this.confidence) / 2) ** 2 * variance) / this.targetHalfWidth ** 2;
    if (floor <= LOOSE_FACTOR * bySpread) return undefined;
    return `The reward bounds [${low}, ${high}] are loose: returns lay in [${formatShort(min)}, ${formatShort(max)}], yet about ${Math.ceil(floor)} episodes are needed whatever their spread. Tighter bounds that still hold for every policy need fewer.`;
  }
}

/** Formats a value for people. Equal values give equal texts. */
function formatShort(value: number): string {
  return String(Number(value.toPrecision(4)));
}
