import { FAILING_START } from '../../aggregation/folding/failing-start.ts';
import type { Outcome } from '../../kernel/outcome.ts';

/** The fold only counts outcomes, so their details, which can be long, are not kept with them. */
export function dropDetail(outcome: Outcome): Outcome {
  return outcome.kind === 'completed' ? outcome : { ...outcome, detail: '' };
}

/** Returns an outcome as the fold gets it. Only the first episodes keep their error. */
export function toFoldedOutcome(index: number, outcome: Outcome): Outcome {
  return index < FAILING_START ? outcome : dropDetail(outcome);
}
