import { InputError } from '../../kernel/errors.ts';
import type { Failed, Outcome } from '../../kernel/outcome.ts';
import type { Bounds } from '../intervals/bounds.ts';
import type { Score } from '../stopping/stopping-rule.ts';

/** The scores of failed episodes, in units of the return. */
export interface FailureScores {
  readonly timeout: number;
  /** The score of every failure that is not a timeout. */
  readonly crash: number;
}

/** Whether episodes that all fail are a mistake (`unexpected`) or a valid answer (`scored`). */
export const FAILURE_POLICIES = ['unexpected', 'scored'] as const;
export type FailurePolicy = (typeof FAILURE_POLICIES)[number];

/** @throws InputError when a failure's score is no possible return: not finite, or outside of the bounds. */
export function assertFailureScores({ timeout, crash }: FailureScores, bounds: Bounds | undefined): void {
  for (const [kind, score] of [
    ['timeout', timeout],
    ['crash', crash],
  ] as const) {
    if (Number.isFinite(score) && (bounds === undefined || (score >= bounds.low && score <= bounds.high))) continue;
    const expected = bounds === undefined ? 'a finite number' : `a number within reward.bounds [${bounds.low}, ${bounds.high}]`;
    throw new InputError('suite.failure-score', `failureScores.${kind}: expected ${expected}, got ${score}`);
  }
}

/**
 * Returns the outcome as it counts: a return that is not finite, or outside of the declared bounds, is a failure with that cause. It is never
 * clipped, because that would hide that the bounds are wrong.
 */
export function judge(outcome: Outcome, bounds: Bounds | undefined): Outcome {
  if (outcome.kind !== 'completed') return outcome;
  const value = outcome.return;
  if (!Number.isFinite(value)) return toFailed('invalid-return', `the return is ${value}, expected a finite number`);
  if (bounds !== undefined && (value < bounds.low || value > bounds.high))
    return toFailed('out-of-bounds', `the return ${value} lies outside of the declared bounds [${bounds.low}, ${bounds.high}]`);
  return outcome;
}

/** Returns the score of a judged outcome. A lost one could have had any value within the bounds, or any value at all without them. */
export function computeScore(outcome: Outcome, failureScores: FailureScores, bounds: Bounds | undefined): Score {
  switch (outcome.kind) {
    case 'completed':
      return { low: outcome.return, high: outcome.return };
    case 'failed': {
      const score = outcome.cause === 'timeout' ? failureScores.timeout : failureScores.crash;
      return { low: score, high: score };
    }
    case 'lost':
      return bounds ?? { low: -Infinity, high: Infinity };
  }
}

function toFailed(cause: Failed['cause'], detail: string): Failed {
  return { kind: 'failed', cause, detail };
}
