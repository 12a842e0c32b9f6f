import type { CasesStage } from '../../tasks/muster-schema.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import type { ExpectedCase } from '../trusted-cases.ts';
import { countCommand, countOf, type Counted, refusesCounting } from './counted-run.ts';
import { MeasuringSandbox } from './measuring-sandbox.ts';

/**
 * The most instructions that the candidate runs on a case.
 *
 * @throws InfrastructureError where there is no valgrind.
 */
export async function countInstructions(
  terms: CandidateTerms,
  execute: CasesStage,
  cases: readonly ExpectedCase[],
  signal: AbortSignal,
): Promise<Counted> {
  const refusal = refusesCounting(terms.files);
  if (refusal !== undefined) return { reason: refusal };
  await using sandbox = await MeasuringSandbox.open(terms, execute, signal);
  let most = 0;
  for (const one of cases) {
    const { result, wrong } = await sandbox.candidate(one, countCommand);
    const { count, reason } = countOf(result);
    if (count === undefined) return { reason: `case ${one.test.name}: ${reason}` };
    if (wrong !== undefined) return { reason: wrong };
    most = Math.max(most, count);
  }
  return { count: most };
}
