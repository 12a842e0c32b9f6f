import { createHash } from 'node:crypto';
import { canonicalJson } from '../../kernel/canonical-json.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { CasesStage } from '../tasks/muster-schema.ts';
import type { TestCase } from '../tasks/test-case.ts';
import { compareOutputs } from '../verification/compare-outputs.ts';
import type { CasesEvidence, CompareEvidence, Ending } from '../verification/evidence.ts';
import type { CommandResult } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { endingOf, evidenceText } from './endings.ts';
import { DRIVER, gradingPlace, LOGS, testFiles } from './grading-place.ts';
import { orderOfRuns } from './order-of-runs.ts';
import { caseCommand, caseFiles, outputOf } from './run-case.ts';
import { putSubmission } from './submission.ts';
import { type ExpectedCase, trustedCases } from './trusted-cases.ts';

/** Of what a run printed on its error output. */
const ERRORS_SHOWN = 2048;

type Run = CasesEvidence['cases'][number]['runs'][number];
type Compared = CompareEvidence['cases'][number];

export interface GradedCases {
  readonly evidence: CasesEvidence;
  /** Made as each output came; they are the evidence of the next stage. */
  readonly comparisons: readonly Compared[];
  readonly measured: readonly Pick<CommandResult, 'seconds' | 'cpuSeconds' | 'peakBytes'>[];
}

/**
 * Runs the candidate on every case, a process for each, and some of them twice, in an order that the seed decides. Before each run everything
 * that can be written to is made anew, so that nothing of the runs before is left. What is expected never enters its sandbox.
 */
export async function gradeCases(terms: CandidateTerms, execute: CasesStage, signal: AbortSignal): Promise<GradedCases> {
  const cases = await trustedCases(terms, execute, signal);
  const { task, step } = terms.grading;
  const place = gradingPlace(task, step, execute.driver === undefined ? [] : [DRIVER]);
  const runs = cases.map((): Run[] => []);
  const comparisons = cases.map((): Compared[] => []);
  const measured: CommandResult[] = [];
  await using sandbox = await terms.context.sandboxes.open(place, signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  for (const at of orderOfRuns(cases.length, execute.repeated, terms.grading.seed)) {
    const one = cases[at];
    if (!one) continue;
    const { run, compared, result } = await runOnce(sandbox.session, terms, execute, one, runs[at]?.length ?? 0, either);
    runs[at]?.push(run);
    if (compared) comparisons[at]?.push(compared);
    if (result) measured.push(result);
    // Its memory limit has ended the whole sandbox.
    if (result?.end.kind === 'out-of-memory') break;
  }
  const evidence = cases.map(({ test, isVisible }, i) => ({
    name: test.name,
    isVisible,
    inputDigest: inputDigest(test),
    runs: runs[i]?.length ? runs[i] : [AFTER_MEMORY],
  }));
  return {
    evidence: { stage: 'execute', kind: 'cases', seed: terms.grading.seed, cases: evidence },
    comparisons: comparisons.flat(),
    measured,
  };
}

/** Of a case that there was no run of. */
const notRun = (detail: string): Run => ({
  ending: { kind: 'no-output', detail: evidenceText(`was not run: ${detail}`) },
  outputDigest: '',
  outputBytes: 0,
  errors: '',
  seconds: 0,
  peakBytes: null,
});
const AFTER_MEMORY = notRun('an earlier case took more memory than it may');

interface RanCase {
  readonly run: Run;
  readonly compared: Compared | undefined;
  /** Undefined when there was nothing to be run. */
  readonly result: CommandResult | undefined;
}

async function runOnce(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  { test, expected }: ExpectedCase,
  number: number,
  signal: AbortSignal,
): Promise<RanCase> {
  const { task } = terms.grading;
  const { workdir } = task.workspace;
  const problem = await makeAnew(session, terms, execute, signal);
  if (problem !== undefined) return { run: notRun(problem), result: undefined, compared: undefined };
  await session.put(caseFiles(test, workdir), signal);
  const result = await session.run(caseCommand(terms, execute, test, { command: execute.command, seconds: execute.seconds }), signal);
  const ended = endingOf(result.end);
  const hasEnded = result.end.kind === 'exited' && result.end.code === 0;
  const output = hasEnded ? await outputOf(session, execute, workdir, result, signal) : undefined;
  const ending: Ending = output?.problem ?? ended;
  const bytes = output?.bytes ?? new Uint8Array();
  const run: Run = {
    ending,
    outputDigest: output?.bytes ? digestOf(bytes) : '',
    outputBytes: bytes.length,
    errors: evidenceText(Buffer.concat([result.stderr.head, result.stderr.tail]).toString('utf8').slice(-ERRORS_SHOWN)),
    seconds: result.seconds,
    peakBytes: Math.round(result.peakBytes),
  };
  return { run, result, compared: output?.bytes ? compare(terms, test, number, expected, bytes) : undefined };
}

/** @returns why the candidate could not be brought in. */
async function makeAnew(
  session: WorkspaceSession,
  { grading, files }: CandidateTerms,
  { driver }: CasesStage,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { task, step, content } = grading;
  const own = driver === undefined ? [] : [DRIVER];
  for (const directory of ['/tmp', '/dev/shm', LOGS, ...own, ...gradingPlace(task, step, []).writable])
    await session.wipe(directory, signal);
  if (driver !== undefined) await session.put(await testFiles(task, step, content, `${driver}/`, DRIVER), signal);
  return await putSubmission(session, files, signal);
}

function compare({ verifier }: CandidateTerms, { name }: TestCase, run: number, expected: Uint8Array, got: Uint8Array): Compared {
  try {
    return { name, run, ...compareOutputs(verifier.compare, expected, got) };
  } catch (error) {
    if (error instanceof RangeError) throw new InfrastructureError('task.verifier', `case ${name}: ${error.message}`, { cause: error });
    throw error;
  }
}

function inputDigest({ arguments: words, stdin, files }: TestCase): string {
  return digestOf(Buffer.from(canonicalJson({ arguments: words, stdin: Buffer.from(stdin).toString('base64'), files })));
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
