import { digestBytes } from '../../kernel/canonical-json.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { CasesStage } from '../tasks/muster-schema.ts';
import { getSystemCallNumbers } from '../tasks/system-calls.ts';
import type { StagedVerifier } from '../tasks/task.ts';
import type { TestCase } from '../tasks/test-case.ts';
import { compareOutputs, excerptOutputs } from '../verification/compare-outputs.ts';
import type { CasesEvidence, CompareEvidence, Ending } from '../verification/evidence.ts';
import type { Command, CommandResult, WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { readEnding, shortenEvidence } from './endings.ts';
import { describeCandidatePlace, DRIVER, testFiles, wipePlace } from './grading-place.ts';
import { buildCaseCommand, listCaseFiles, readOutput } from './run-case.ts';
import { putSubmission } from './submission.ts';
import type { ExpectedCase } from './trusted-cases.ts';

/** Of what a run printed on its error output. */
const ERRORS_SHOWN = 2048;

type Run = CasesEvidence['cases'][number]['runs'][number];
type Compared = CompareEvidence['cases'][number];

/** Of a case that there was no run of. */
export const describeNotRun = (detail: string): Run => ({
  ending: { kind: 'no-output', detail: shortenEvidence(`was not run: ${detail}`) },
  outputDigest: '',
  outputBytes: 0,
  errors: '',
  seconds: 0,
  peakBytes: null,
});

/**
 * The system calls that no run of the candidate may make, by their numbers: every run is watched, because a program sees whether it is, by the
 * number of its filters.
 */
export function listWatchedCalls({ constraints }: StagedVerifier): ReadonlyMap<number, string> {
  const forbidden = constraints.flatMap((one) => (one.measure === 'systemCalls' && 'forbidden' in one ? one.forbidden : []));
  return getSystemCallNumbers(forbidden, process.arch);
}

/** What came of one run of the candidate. */
export interface RanCase {
  readonly run: Run;
  readonly compared: Compared | undefined;
  /** Undefined when there was nothing to be run. */
  readonly result: CommandResult | undefined;
}

/**
 * Runs the candidate on a case, in a sandbox in which nothing is left of the runs before, and compares its output outside of it.
 *
 * @param number of the run among those of the case. @param change of the command, for what is measured besides.
 */
export async function runCandidate(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  { test, expected }: ExpectedCase,
  number: number,
  signal: AbortSignal,
  change: (command: Command) => Command = (command) => command,
): Promise<RanCase> {
  const { workdir } = terms.grading.task.workspace;
  const problem = await makeAnew(session, terms, execute, listCaseFiles(test, workdir), signal);
  if (problem !== undefined) return { run: describeNotRun(problem), result: undefined, compared: undefined };
  const command = await buildCaseCommand(terms, execute, test, { command: execute.command, seconds: execute.seconds });
  const watched = [...listWatchedCalls(terms.verifier).keys()];
  const result = await session.run(change({ ...command, watched }), signal);
  if (result.end.kind === 'unstartable' && result.end.detail.includes('seccomp:'))
    throw new InfrastructureError(
      'task.no-seccomp',
      `system calls cannot be watched here (${result.end.detail}); use provider: bubblewrap`,
    );
  const ended = readEnding(result.end);
  const hasEnded = result.end.kind === 'exited' && result.end.code === 0;
  const output = hasEnded ? await readOutput(session, execute, workdir, result, signal) : undefined;
  const ending: Ending = output?.problem ?? ended;
  const bytes = output?.bytes ?? new Uint8Array();
  const run: Run = {
    ending,
    outputDigest: output?.bytes ? digestBytes(bytes) : '',
    outputBytes: bytes.length,
    errors: shortenEvidence(Buffer.concat([result.stderr.head, result.stderr.tail]).toString('utf8').slice(-ERRORS_SHOWN)),
    seconds: result.seconds,
    cpuSeconds: result.cpuSeconds,
    peakBytes: Math.round(result.peakBytes),
  };
  return { run, result, compared: output?.bytes ? compare(terms, test, number, expected, bytes) : undefined };
}

/** Everything that can be written to, with the files of the candidate and of the case. @returns why the candidate could not be brought in. */
async function makeAnew(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  ofCase: readonly WorkspaceFile[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { task, step, content } = terms.grading;
  const driver = execute.driver === undefined ? [] : await testFiles(task, step, content, `${execute.driver}/`, DRIVER);
  // Asked for at once, they cost one wait; they are carried out one after the other.
  const wiped = wipeWorkspace(session, terms, execute, signal);
  const driven = session.put(driver, signal);
  const submitted = putSubmission(session, terms.files, signal);
  const laid = session.put(ofCase, signal);
  const [, , problem] = await Promise.all([wiped, driven, submitted, Promise.allSettled([laid])]);
  // Where the submission is not there, neither may be what lies among its files.
  if (problem === undefined) await laid;
  return problem;
}

/** Leaves nothing in any place that can be written to. */
export async function wipeWorkspace(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  signal: AbortSignal,
): Promise<void> {
  await wipePlace(session, describeCandidatePlace(terms, execute), signal);
}

function compare({ verifier }: CandidateTerms, { name }: TestCase, run: number, expected: Uint8Array, got: Uint8Array): Compared {
  try {
    const compared = compareOutputs(verifier.compare, expected, got);
    return { name, run, ...compared, ...(compared.isEqual ? {} : { outputs: excerptOutputs(expected, got) }) };
  } catch (error) {
    if (error instanceof RangeError) throw new InfrastructureError('task.verifier', `case ${name}: ${error.message}`, { cause: error });
    throw error;
  }
}
