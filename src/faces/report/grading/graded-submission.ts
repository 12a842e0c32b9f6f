import type { Soundness } from '../../../agents/grading/soundness.ts';
import type { Verdict } from '../../../agents/verification/verdict.ts';

/** A verdict, with what it was taken of. */
export interface GradedSubmission {
  readonly task: { readonly id: string; readonly digest: string; readonly step: string };
  readonly seed: string;
  readonly verdict: Verdict;
}

/** A task that was checked, with a verdict of each of its own submissions. */
export interface CheckedTask {
  readonly soundness: Soundness;
  /** Submissions in the order of the trials: of each the first that was not as expected, or else the first. */
  readonly submissions: readonly (GradedSubmission | undefined)[];
}
