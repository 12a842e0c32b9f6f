import { digestBytes } from '../../kernel/canonical-json.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { CasesStage } from '../tasks/muster-schema.ts';
import { getSystemCallNumbers } from '../tasks/system-calls.ts';
import type { StagedVerifier } from '../tasks/task.ts';
import type { TestCase } from '../tasks/test-case.ts';
import { compareOutputs, excerptOutputs } from '../verification/compare-outputs.ts';
import type { CasesEvidence, CompareEvidence, Ending } from '../verification/evidence.ts';
import type { Command, CommandResult } from '../workspace/command.ts';
import type { SeriesResult } from '../workspace/series.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { readEnding, shortenEvidence } from './endings.ts';
import { runOnCases, leaveUnbounded } from './case-runs.ts';
import { describeCandidateTemplate, DRIVER, listWrittenPaths, readTestFiles, wipeWritablePaths } from './grading-template.ts';
import { buildCaseCommand, locateOutput, readOutput } from './run-case.ts';
import { describeUnfit } from './submission.ts';
import type { ExpectedCase } from './expected-cases.ts';

/** The largest number of bytes of a run's error output. */
const ERRORS_SHOWN = 2048;

type Run = CasesEvidence['cases'][number]['runs'][number];
type Compared = CompareEvidence['cases'][number];

/** Describes a case that was not run. */
export const describeNotRun = (detail: string): Run => ({
  ending: { kind: 'no-output', detail: shortenEvidence(`was not run: ${detail}`) },
  outputDigest: '',
  outputBytes: 0,
  errors: '',
  seconds: 0,
  peakBytes: null,
});

/**
 * Lists the system calls that no run of the candidate may make, by their numbers: every run is watched, because a program sees whether it is, by the
 * number of its filters.
 */
export function listWatchedCalls({ constraints }: StagedVerifier): ReadonlyMap<number, string> {
  const forbidden = constraints.flatMap((one) => (one.measure === 'systemCalls' && 'forbidden' in one ? one.forbidden : []));
  return getSystemCallNumbers(forbidden, process.arch);
}

export interface RanCase {
  readonly run: Run;
  readonly compared: Compared | undefined;
  /** It is undefined when there was nothing to run. */
  readonly result: CommandResult | undefined;
}

/** A run of the candidate, before it is made. */
export interface Turn {
  readonly one: ExpectedCase;
  /** Its number among the runs of its case. */
  readonly number: number;
}

/**
 * Runs the candidate on one case after the other, in a sandbox without anything of earlier runs, and compares its output outside of it. A run that
 * destroys the sandbox, or a candidate that could not be placed, end the list of results.
 *
 * @param change of the command, for further measurements.
 */
export async function* runCandidate(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  turns: readonly Turn[],
  signal: AbortSignal,
  change?: (command: Command) => Command,
): AsyncGenerator<RanCase, void> {
  const { task, step, content } = terms.grading;
  const { workdir } = task.workspace;
  const watched = [...listWatchedCalls(terms.verifier).keys()];
  const command = await buildCaseCommand(terms, execute, { command: execute.command, seconds: execute.seconds });
  const runs = {
    command: change ? change({ ...command, watched }) : { ...command, watched },
    wiped: listWrittenPaths(describeCandidateTemplate(terms, execute)),
    trusted: execute.driver === undefined ? [] : await readTestFiles(task, step, content, `${execute.driver}/`, DRIVER),
    files: terms.files,
    workdir,
    output: locateOutput(execute, workdir),
    trustsCommand: false,
    within: change ? leaveUnbounded : terms.within,
  };
  let at = 0;
  for await (const run of runOnCases(
    session,
    runs,
    turns.map(({ one: { test } }) => test),
    signal,
  )) {
    const turn = turns[at];
    at += 1;
    if (turn === undefined) continue;
    if (run.unlaid === undefined) yield judgeRun(terms, execute, turn, run);
    else yield { run: describeNotRun(describeUnfit(run.unlaid)), result: undefined, compared: undefined };
  }
}

function judgeRun(terms: CandidateTerms, execute: CasesStage, { one: { test, expected }, number }: Turn, ran: SeriesResult): RanCase {
  const { result } = ran;
  if (result.end.kind === 'unstartable' && result.end.detail.includes('seccomp:'))
    throw new InfrastructureError(
      'task.no-seccomp',
      `system calls cannot be watched here (${result.end.detail}); use provider: bubblewrap`,
    );
  const hasEnded = result.end.kind === 'exited' && result.end.code === 0;
  const output = hasEnded ? readOutput(execute, ran) : undefined;
  const ending: Ending = output?.problem ?? readEnding(result.end);
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

/** Leaves nothing in any place that can be written to. */
export async function wipeWorkspace(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  signal: AbortSignal,
): Promise<void> {
  await wipeWritablePaths(session, describeCandidateTemplate(terms, execute), signal);
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
