import { InfrastructureError } from '../../../kernel/errors.ts';
import type { CasesStage, ScoreTerms } from '../../tasks/muster-schema.ts';
import type { EfficiencyEvidence } from '../../verification/evidence.ts';
import type { CommandResult } from '../../workspace/command.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import type { ExpectedCase } from '../expected-cases.ts';
import { countCommand, readCount, type Counted, findCountingProblem } from './counted-run.ts';
import { MeasuringSandbox } from './measuring-sandbox.ts';

type Efficiency = NonNullable<ScoreTerms['efficiency']>;

/**
 * Measures the resources of golden model and candidate, in turns on every case. A wrong output, or a candidate that cannot be measured, ends it.
 *
 * @throws InfrastructureError where the golden model cannot be measured.
 */
export async function measureEfficiency(
  terms: CandidateTerms,
  execute: CasesStage,
  { measure }: Efficiency,
  cases: readonly ExpectedCase[],
  signal: AbortSignal,
): Promise<EfficiencyEvidence> {
  const found = (golden: number, candidate: number, wrong: string | null): EfficiencyEvidence => {
    return { stage: 'score', kind: 'efficiency', measure, golden, candidate, wrong };
  };
  const refusal = measure === 'instructions' ? findCountingProblem(terms.files) : undefined;
  if (refusal !== undefined) return found(0, 0, refusal);
  const change = measure === 'instructions' ? countCommand : undefined;
  const add = measure === 'instructions' ? (sum: number, value: number) => sum + value : Math.max;
  let [golden, candidate] = [0, 0];
  await using sandbox = await MeasuringSandbox.open(terms, execute, signal);
  for (const one of cases) {
    const trusted = readTaken(await sandbox.runGolden(one, change), measure);
    if (trusted.count === undefined)
      throw new InfrastructureError('task.verifier', `the golden model on case ${one.test.name} ${trusted.reason}`);
    const { result, wrong } = await sandbox.runCandidate(one, change);
    const own = readTaken(result, measure);
    if (wrong !== undefined || own.count === undefined) return found(golden, candidate, wrong ?? `case ${one.test.name}: ${own.reason}`);
    [golden, candidate] = [add(golden, trusted.count), add(candidate, own.count)];
  }
  return found(golden, candidate, null);
}

function readTaken(result: CommandResult, measure: Efficiency['measure']): Counted {
  return measure === 'instructions' ? readCount(result) : { count: result.peakBytes };
}

/**
 * Returns the most instructions that the candidate runs on a case.
 *
 * @throws InfrastructureError where there is no valgrind.
 */
export async function countInstructions(
  terms: CandidateTerms,
  execute: CasesStage,
  cases: readonly ExpectedCase[],
  signal: AbortSignal,
): Promise<Counted> {
  const refusal = findCountingProblem(terms.files);
  if (refusal !== undefined) return { reason: refusal };
  await using sandbox = await MeasuringSandbox.open(terms, execute, signal);
  let most = 0;
  for (const one of cases) {
    const { result, wrong } = await sandbox.runCandidate(one, countCommand);
    const { count, reason } = readCount(result);
    if (count === undefined) return { reason: `case ${one.test.name}: ${reason}` };
    if (wrong !== undefined) return { reason: wrong };
    most = Math.max(most, count);
  }
  return { count: most };
}
