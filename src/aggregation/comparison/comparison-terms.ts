import { InputError } from '../../kernel/errors.ts';
import { assertBounds, type Bounds } from '../intervals/bounds.ts';
import { findConfidenceProblem } from '../intervals/confidence.ts';
import { assertFailureScores, type FailureScores } from '../folding/scoring.ts';
/** The smallest margin as a share of the range. A smaller one would take some 10⁶ pairs. */
const NARROWEST_MARGIN = 1e-3;

export interface ComparisonQuestion {
  /** Required: without them, an error names the remedy. */
  readonly bounds: Bounds | undefined;
  readonly failureScores: FailureScores;
  /** Probability that no verdict of the whole comparison is wrong. */
  readonly confidence: number;
  /** δ in units of the return: differences up to it do not matter. */
  readonly margin: number;
  /** C: the number of candidates at the start. */
  readonly candidates: number;
}

/** The terms of every candidate's verdict. */
export interface ComparisonTerms {
  readonly bounds: Bounds;
  readonly failureScores: FailureScores;
  /** hi − lo */
  readonly range: number;
  /** 1 − α, over all candidates. */
  readonly confidence: number;
  /**
   * log(2C/α), the threshold for the evidence of either direction. The split of α is fixed at the start, so a candidate's verdict depends on its own
   * pairs only.
   */
  readonly needed: number;
  /** Confidence of a candidate's interval: 1 − α/C without a margin, 1 − 3α/(2C) with one, because `equivalent` has further bets. */
  readonly intervalConfidence: number;
  /** δ as a share of the range. */
  readonly margin: number;
}

/** @throws InputError when there are no bounds, a failure's score is no possible return, or another number is out of its range. */
export function planComparisonTerms({ bounds, failureScores, confidence, margin, candidates }: ComparisonQuestion): ComparisonTerms {
  if (bounds === undefined) {
    throw new InputError(
      'comparison.bounds-missing',
      'reward.bounds: a comparison needs to know the range of the return, got none; declare the lowest and highest possible return in the suite',
    );
  }
  assertBounds(bounds);
  assertFailureScores(failureScores, bounds);
  const problem = findConfidenceProblem(confidence, candidates);
  if (problem !== undefined) throw new InputError('comparison.invalid', `confidence: ${problem}`);
  const range = bounds.high - bounds.low;
  const least = NARROWEST_MARGIN * range;
  if (!(margin === 0 || (margin >= least && margin < range))) {
    throw new InputError(
      'comparison.invalid',
      `margin: expected 0, or a number from ${least} (a thousandth of the range of reward.bounds) to below ${range} (all of it), got ${margin}; 0 compares without a margin`,
    );
  }
  const share = (1 - confidence) / candidates;
  const intervalConfidence = 1 - (margin === 0 ? share : 1.5 * share);
  return { bounds, failureScores, range, confidence, needed: Math.log(2 / share), intervalConfidence, margin: margin / range };
}
