import { FailingStart } from '../folding/failing-start.ts';
import { FailureCounts } from '../folding/failure-counts.ts';
import { type FailurePolicy, judge, computeScore } from '../folding/scoring.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { Score } from '../stopping/stopping-rule.ts';
import type { ComparisonTerms } from './comparison-terms.ts';

/** Scores the outcomes of one arm, counts its failures, and watches whether its first episodes all fail. */
export class ArmFailures {
  readonly #failures = new FailureCounts();
  readonly #start: FailingStart | undefined;

  constructor(policy: FailurePolicy) {
    this.#start = policy === 'unexpected' ? new FailingStart() : undefined;
  }

  get counts(): FailureCounts['counts'] {
    return this.#failures.counts;
  }

  get isStartFailing(): boolean {
    return this.#start?.isFailing === true;
  }

  score(outcome: Outcome, { bounds, failureScores }: Pick<ComparisonTerms, 'bounds' | 'failureScores'>): Score {
    const judged = judge(outcome, bounds);
    this.#failures.add(judged);
    this.#start?.fold(judged);
    return computeScore(judged, failureScores, bounds);
  }
}
