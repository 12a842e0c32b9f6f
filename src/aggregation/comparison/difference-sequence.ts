import { EquivalenceEvidence } from './equivalence-evidence.ts';
import { MixtureSequence } from './mixture-sequence.ts';

/**
 * Running interval for the mean Δ of differences in [−1, 1] that agrees with the verdict: the means that the evidence for `promote` and `regress` has
 * not excluded, cut by the evidence for `equivalent`. Its ends are ±1 while nothing is known, and excluded from then on. It never widens.
 *
 * It is not within the margin before `equivalent` is shown: until then, an end outside of the margin stays where it is if it would be the last one to
 * enter. Otherwise it is above δ, or below −δ, as soon as there is the evidence for `promote` or `regress`.
 *
 * The mixture excludes Δ with probability at most α/C. `equivalent` cuts at a mean on either side of 0 and Δ is beyond at most one of them, so it
 * excludes Δ with probability at most α/(2C). So the interval holds Δ at all times at once with probability 1 − α/C without a margin, and 1 − 3α/(2C)
 * with one.
 */
export class DifferenceSequence {
  readonly #margin: number;
  readonly #mixture: MixtureSequence;
  readonly #equivalence: EquivalenceEvidence | undefined;
  #low = -1;
  #high = 1;
  #contradicted = false;

  /** @param margin δ as a share of the range, 0 for none. @param needed log(2C/α) */
  constructor(margin: number, needed: number) {
    this.#margin = margin;
    this.#mixture = new MixtureSequence(margin, needed);
    this.#equivalence = margin > 0 ? new EquivalenceEvidence(margin, needed) : undefined;
  }

  /** Adds the next difference: its lowest and highest possible value, equal when it is known. */
  fold(low: number, high: number): void {
    this.#equivalence?.fold(low, high);
    if (this.#contradicted) return;
    this.#mixture.fold(low, high);
    const lowest = Math.max(this.#mixture.low, this.#equivalence?.low ?? -1);
    const highest = Math.min(this.#mixture.high, this.#equivalence?.high ?? 1);
    this.#contradicted = lowest >= highest;
    if (!this.#contradicted) this.#narrow(lowest, highest);
  }

  get low(): number {
    return this.#low;
  }

  get high(): number {
    return this.#high;
  }

  /** Whether the mean is shown to be strictly between −margin and margin; never true without a margin. */
  get isWithinMargin(): boolean {
    return this.#equivalence?.isWithinMargin ?? false;
  }

  /** Whether the differences exclude every mean, which soon happens when their mean drifts. The interval then stays as it was before. */
  get contradicted(): boolean {
    return this.#contradicted;
  }

  /** Estimates the values in total until it is within the margin, if all have this mean and variance; Infinity when that cannot be expected. */
  estimateWithinMargin(mean: number, variance: number): number {
    return this.#equivalence?.estimateRemaining(mean, variance) ?? Infinity;
  }

  #narrow(low: number, high: number): void {
    const isEarly = low > -this.#margin && high < this.#margin && !this.isWithinMargin;
    if (!isEarly || this.#low > -this.#margin) this.#low = low;
    if (!isEarly || this.#high < this.#margin) this.#high = high;
  }
}
