import { FAILING_START } from '../../aggregation/folding/failing-start.ts';
import type { Outcome } from '../../kernel/outcome.ts';

/** The fold counts outcomes; their details, which can be long, need not wait with them. */
export function dropDetail(outcome: Outcome): Outcome {
  return outcome.kind === 'completed' ? outcome : { ...outcome, detail: '' };
}

/** As the fold gets it: only of the first episodes does it matter with which error they failed. */
export function toFoldedOutcome(index: number, outcome: Outcome): Outcome {
  return index < FAILING_START ? outcome : dropDetail(outcome);
}
