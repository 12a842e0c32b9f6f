/** The figures of one contender that a ranking needs. */
export interface Contender {
  readonly mean: number | null;
  readonly interval: { readonly low: number; readonly high: number; readonly confidence: number } | null;
}

/** A contender's position in a ranking by mean. */
export interface RankRange {
  /** Position of the contender in the given list. */
  readonly contender: number;
  /** Best and worst rank that the intervals allow, from 1 on. */
  readonly best: number;
  readonly worst: number;
}

export interface Ranking {
  /** Probability that all given ranks are right at once: at least 1 − Σ αᵢ, whatever the dependence of the intervals (Bonferroni). */
  readonly confidence: number;
  /** Positions by falling mean. Contenders without a mean come last, in the given order. */
  readonly places: readonly RankRange[];
}

/**
 * Orders contenders by their mean, and computes the ranks that their intervals allow: another contender is surely better if its whole interval is
 * above, surely worse if it is below.
 */
export function rankContenders(contenders: readonly Contender[]): Ranking {
  const order = contenders.map((_, position) => position).sort((a, b) => computeMean(contenders[b]) - computeMean(contenders[a]) || a - b);
  const places = order.map((position) => {
    const own = contenders[position]?.interval;
    const others = contenders.filter((_, other) => other !== position);
    const above = own ? others.filter(({ interval }) => interval !== null && interval.low > own.high).length : 0;
    const below = own ? others.filter(({ interval }) => interval !== null && interval.high < own.low).length : 0;
    return { contender: position, best: 1 + above, worst: contenders.length - below };
  });
  const risk = contenders.reduce((sum, { interval }) => sum + (interval === null ? 0 : 1 - interval.confidence), 0);
  return { confidence: Math.max(0, 1 - risk), places };
}

function computeMean(contender: Contender | undefined): number {
  // Finite, so that two contenders without a mean differ by 0 and not by NaN.
  return contender?.mean ?? -Number.MAX_VALUE;
}
