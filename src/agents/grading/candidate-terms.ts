import type { StagedVerifier } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { Grading, GradingContext } from './grading-context.ts';

/** What the stages of one attempt at a verdict share. */
export interface CandidateTerms {
  readonly grading: Grading;
  readonly verifier: StagedVerifier;
  readonly context: GradingContext;
  /** The files that the candidate's processes see, by their paths inside. */
  readonly files: readonly WorkspaceFile[];
  /** Limits a number of seconds to what is left of the verdict's time. */
  readonly within: (seconds: number) => number;
  /** Waits for what is no part of this verdict: it costs no time of it. */
  readonly leaveOut: <Value>(wait: () => Promise<Value>) => Promise<Value>;
}
