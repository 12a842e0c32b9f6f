import { Moments } from '../../aggregation/intervals/moments.ts';
import { computeStudentInterval } from '../../aggregation/intervals/intervals.ts';
import type { ScoreTerms } from '../tasks/muster-schema.ts';
import type { SpeedEvidence } from './evidence.ts';
import { scoreRatio } from './score.ts';

/** Golden model and candidate on one case, one right after the other; in seconds. */
export type Turn = SpeedEvidence['turns'][number];
type SpeedTerms = NonNullable<ScoreTerms['speed']>;

/** A ratio golden ÷ candidate with its interval. */
export interface MeasuredRatio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** Fewer say nothing about their spread. */
export const FEWEST_TURNS = 3;
const ERROR = 0.05;

/**
 * Measures the geometric mean of the ratios, with a t-interval of their logarithms. The result is checked after each turn from the third on, and may
 * end the measurement: the k-th check gets α/(k(k+1)) of the error, and these add up to α, so that the interval is valid wherever it ends.
 *
 * @param turns at least three.
 */
export function measureRatio(turns: readonly Turn[]): MeasuredRatio {
  const looks = turns.length - FEWEST_TURNS + 1;
  if (looks < 1) throw new RangeError(`${turns.length} turns; expected at least ${FEWEST_TURNS}`);
  const moments = new Moments();
  for (const { golden, candidate } of turns) moments.add(Math.log(golden / candidate));
  const interval = computeStudentInterval(moments, 1 - ERROR / (looks * (looks + 1)));
  const { mean } = moments;
  if (interval === undefined || mean === undefined) throw new RangeError('a turn without a time');
  return { ratio: Math.exp(mean), low: Math.exp(interval.low), high: Math.exp(interval.high) };
}

/** Whether the turns so far make the score as certain as the task requires, or reach its limit. Pure. */
export function isMeasured(turns: readonly Turn[], terms: SpeedTerms): boolean {
  if (turns.length < FEWEST_TURNS) return false;
  if (turns.length >= terms.pairs) return true;
  const { low, high } = measureRatio(turns);
  return (scoreRatio(high, terms) - scoreRatio(low, terms)) / 2 <= terms.halfWidth;
}
