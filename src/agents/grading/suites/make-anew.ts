import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import { describeGradingPlace, LOGS } from '../grading-place.ts';
import { putSubmission } from '../submission.ts';

/**
 * Makes everything anew that can be written to, and lays the candidate's files there: nothing is left of the run before.
 *
 * @param own directories of the sandbox beside those of the task.
 * @returns why the candidate could not be brought in.
 */
export async function makeAnew(
  session: WorkspaceSession,
  { grading, files }: CandidateTerms,
  own: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { task, step } = grading;
  for (const directory of ['/tmp', '/dev/shm', LOGS, ...own, ...describeGradingPlace(task, step, []).writable])
    await session.wipe(directory, signal);
  return await putSubmission(session, files, signal);
}
