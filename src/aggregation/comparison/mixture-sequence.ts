import { Evidence, GAMBLERS, LIMITING_MEANS } from './paired-evidence.ts';

/** Spacing of the means for which the evidence is computed, as a share of the range; in between it is bounded from below. */
const SPACING = 0.01;
/** After two steps, some 10⁻⁸ of the first shortfall of up to 10⁻⁴ is left. */
const NEWTON_STEPS = 2;

/**
 * Confidence sequence for the mean Δ of differences in [−1, 1], from the same evidence as the verdicts. E⁺(m) is the evidence that Δ is above m,
 * E⁻(m) that it is below. If Δ = m, each ever reaches a threshold T with probability at most 1/T. A mean is excluded for good when either reaches T =
 * 2C/α, so the remaining means hold Δ at all times at once with probability 1 − α/C.
 *
 * A factor of E⁺, 1 + λ(D − m) = 1 + λ(1 + D) − λ(1 + m), is never negative, and falls with m: λ = min(λₖ, 0.95/(1 + m)) falls and λ(1 + m) rises. So
 * E⁺ falls with m, the means that it excludes are those from −1 up to some end, and by symmetry those that E⁻ excludes are those from 1 down. The
 * interval is what remains in between, both ends excluded.
 *
 * E⁺(δ) and E⁻(−δ) are the evidence for `promote` and `regress`, and ±δ are among the tested means. So the interval is above δ as soon as there is
 * evidence for `promote`, and below −δ as soon as there is evidence for `regress`.
 */
export class MixtureSequence {
  readonly #tested: number;
  readonly #lower: LowerEnd;
  readonly #upper: LowerEnd;

  /** @param margin δ as a share of the range, in [0, 1). @param needed log T */
  constructor(margin: number, needed: number) {
    const means = listTestedMeans(margin);
    this.#tested = means.length;
    this.#lower = new LowerEnd(means, needed);
    this.#upper = new LowerEnd(means, needed);
  }

  /** Adds the next difference: its lowest and highest possible value, equal when it is known. Has no effect once the ends have met. */
  fold(low: number, high: number): void {
    const [below, above] = [this.#lower.ruledOut, this.#upper.ruledOut];
    this.#lower.fold(low, this.#tested - above);
    this.#upper.fold(-high, this.#tested - below);
  }

  get low(): number {
    return this.#lower.end;
  }

  get high(): number {
    return -this.#upper.end;
  }
}

interface TestedMean {
  readonly mean: number;
  readonly evidence: Evidence;
}

/**
 * Lower end of the interval. Between two tested means a < b the evidence is bounded from below: the logarithm of one gambler's capital, a sum of
 * terms log(1 + λ(D − m)), is concave in the position of m, so it is above the chord from a to b. Up to 0 the position is m itself, where all λ are
 * constant. From there on it is m/(1 + m) = 1 − 1/(1 + m), in which terms are concave both while λ is constant and while it is 0.95/(1 + m); the
 * point where one changes into the other is a tested mean. The log of the sum of the chords' exponentials is convex in the position and falls. So a
 * step of Newton's method that starts above log T ends above it. A chord of length h reaches log T about λh²/8 too soon, and some times that near the
 * point where the largest bets begin to be limited: with h = 0.01 the end is within 10⁻⁴ of where E⁺ itself is T.
 *
 * Only what can still move the end is computed: from the last excluded mean to the first one that the other end has excluded.
 */
class LowerEnd {
  readonly #tested: readonly TestedMean[];
  readonly #needed: number;
  #ruledOut = 0;
  #end = -1;

  constructor(means: readonly number[], needed: number) {
    this.#tested = means.map((mean) => ({ mean, evidence: new Evidence(mean) }));
    this.#needed = needed;
  }

  /** The number of tested means that are excluded: the lowest ones. */
  get ruledOut(): number {
    return this.#ruledOut;
  }

  /** The greatest mean that is known to be excluded; −1 while there is none. */
  get end(): number {
    return this.#end;
  }

  /** @param last position of the last relevant tested mean. */
  fold(value: number, last: number): void {
    for (let position = Math.max(0, this.#ruledOut - 1); position <= last; position += 1) {
      const tested = this.#tested[position];
      tested?.evidence.fold(value);
    }
    this.#ruleOut(last);
    for (let step = 0; step < NEWTON_STEPS; step += 1) this.#approach();
  }

  #ruleOut(last: number): void {
    while (this.#ruledOut <= last) {
      const next = this.#tested[this.#ruledOut];
      if (next === undefined || !(next.evidence.log >= this.#needed)) return;
      this.#end = Math.max(this.#end, next.mean);
      this.#ruledOut += 1;
    }
  }

  #approach(): void {
    const left = this.#tested[this.#ruledOut - 1];
    const right = this.#tested[this.#ruledOut];
    if (left === undefined || right === undefined) return;
    const from = getPosition(left.mean);
    const width = getPosition(right.mean) - from;
    const position = getPosition(this.#end);
    const share = (position - from) / width;
    let sum = 0;
    let slope = 0;
    for (let k = 0; k < GAMBLERS; k += 1) {
      const start = left.evidence.logCapital(k);
      const rise = right.evidence.logCapital(k) - start;
      // A gambler without capital on either side is left out, which can only lower the others' sum.
      if (!Number.isFinite(rise)) continue;
      const capital = Math.exp(start + share * rise - this.#needed);
      sum += capital;
      slope += capital * rise;
    }
    const excess = Math.log(sum);
    if (excess > 0) this.#end = Math.max(this.#end, computeMeanAt(position + (width * excess * sum) / -slope));
  }
}

function getPosition(mean: number): number {
  return mean > 0 ? mean / (1 + mean) : mean;
}

function computeMeanAt(position: number): number {
  return position > 0 ? position / (1 - position) : position;
}

/** Lists means from −1 to 1, at most `SPACING` apart, with 0, ±margin and the points where bets begin to be limited. */
function listTestedMeans(margin: number): number[] {
  const marks = [...new Set([0, margin, ...LIMITING_MEANS, 1])].toSorted((a, b) => a - b);
  const positive = marks.slice(1).flatMap((mark, i) => spaceEvenly(marks[i] ?? 0, mark));
  return [...positive.map((mean) => -mean).toReversed(), 0, ...positive];
}

/** Lists numbers that are at most `SPACING` apart, without `low`. */
function spaceEvenly(low: number, high: number): number[] {
  const count = Math.ceil((high - low) / SPACING);
  return Array.from({ length: count }, (_, step) => low + (high - low) * ((step + 1) / count));
}
