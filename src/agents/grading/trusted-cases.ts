import { raceWithAbort } from '../../kernel/abort.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import type { CasesStage } from '../tasks/muster-schema.ts';
import { STORED_PREFIX } from '../tasks/staged-verifier.ts';
import { parseCases, type TestCase } from '../tasks/test-case.ts';
import type { Command, CommandResult } from '../workspace/command.ts';
import type { SeriesResult } from '../workspace/series.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import type { ExpectedCase } from './expected-cases.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { joinStreams } from './endings.ts';
import { listForkedModules } from './forked-runs.ts';
import { describeCandidateTemplate, describeGradingTemplate, TESTS, readTestFiles, wipeWritablePaths } from './grading-template.ts';
import { runOnCases, leaveUnbounded } from './case-runs.ts';
import { buildCaseCommand, locateOutput, readOutput } from './run-case.ts';

/** The largest number of bytes of a generator's output. */
const CASES_BYTES = 256 * 2 ** 20;
const DRAWN_PREFIX = 'drawn-';

/**
 * Computes the cases of one verdict: the stored ones, then those that the generator draws, each with the output of the golden model. All of it comes
 * from the task's own code, in a sandbox that no submission ever enters, so that it can serve one verdict after the other.
 *
 * @throws InfrastructureError when generator or golden model fail: then the verifier is broken.
 */
export async function computeTrustedCases(
  terms: CandidateTerms,
  execute: CasesStage,
  signal: AbortSignal,
): Promise<readonly ExpectedCase[]> {
  const { task, step, seed } = terms.grading;
  // The name of an image may refer to another image later.
  const computed = task.workspace.root.kind === 'image' ? undefined : terms.context.computed;
  const key = `${task.digest} ${step.name} ${seed}`;
  const compute = (): Promise<readonly ExpectedCase[]> => computeCases(terms, execute, signal);
  if (computed === undefined) return await compute();
  return await computed.get(key, compute, (other) => terms.leaveOut(() => raceWithAbort(other, signal)));
}

async function computeCases(terms: CandidateTerms, execute: CasesStage, signal: AbortSignal): Promise<readonly ExpectedCase[]> {
  const { grading, verifier, context } = terms;
  const { task, step, content } = grading;
  const stored = await readStoredCases(terms, execute);
  const isComplete = execute.generator === undefined && stored.every(({ expected }) => expected !== undefined);
  const known = (test: TestCase, i: number, expected: Uint8Array = new Uint8Array()): ExpectedCase => ({
    test,
    isVisible: i < execute.visible,
    expected,
  });
  if (isComplete) return stored.map((test, i) => known(test, i, test.expected));
  const template = describeGradingTemplate(task, step, [TESTS]);
  await using sandbox = await context.sandboxes.openTrusted(template, signal, describeCandidateTemplate(terms, execute));
  const { session } = sandbox;
  const either = AbortSignal.any([signal, sandbox.signal]);
  const files = await readTestFiles(task, step, content);
  // The requests are carried out in order. Without a wait between them, the sandbox is woken once.
  const [, , drawn] = await Promise.all([
    wipeWritablePaths(session, template, either),
    session.put(files, either),
    drawCases(session, terms, execute, either),
  ]);
  const cases = [...stored, ...drawn];
  const unknown = cases.filter(({ expected }) => expected === undefined);
  const outputs = await computeGoldenOutputs(session, terms, execute, unknown, either);
  if (verifier.golden === undefined && cases.length === 0) throw createBrokenError('there is no case');
  return cases.map((test, i) => known(test, i, test.expected ?? outputs.get(test)));
}

async function readStoredCases({ grading: { step, content } }: CandidateTerms, { stored }: CasesStage): Promise<readonly TestCase[]> {
  const file = stored === undefined ? undefined : step.tests.find(({ path }) => path === stored)?.file;
  return file === undefined ? [] : parseCases(file, await content.read(file), STORED_PREFIX);
}

async function drawCases(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  signal: AbortSignal,
): Promise<readonly TestCase[]> {
  const { grading, verifier, within } = terms;
  const { generator } = execute;
  if (!generator) return [];
  const { command, cases, seconds } = generator;
  const own = { MUSTER_SEED: grading.seed, MUSTER_CASES: `${cases}`, PYTHONHASHSEED: '0' };
  const environment = cleanEnvironment(grading.task.workspace.environment, verifier.environment, own);
  const output = { head: CASES_BYTES, tail: 0, most: CASES_BYTES };
  const forkedWith = await listForkedModules(terms, execute, [command, ...(verifier.golden ? [verifier.golden.command] : [])]);
  const run: Command = { argv: command, directory: TESTS, environment, seconds: within(seconds), output, forkedWith };
  const result = await session.run(run, signal);
  assertSucceeded('the generator', result);
  try {
    const drawn = parseCases('the generator', result.stdout.head, DRAWN_PREFIX);
    if (drawn.length === cases) return drawn;
    throw createBrokenError(`the generator wrote ${drawn.length} cases, expected ${cases} (MUSTER_CASES)`);
  } catch (error) {
    if (error instanceof InputError) throw createBrokenError(error.message);
    throw error;
  }
}

async function computeGoldenOutputs(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  cases: readonly TestCase[],
  signal: AbortSignal,
): Promise<ReadonlyMap<TestCase, Uint8Array>> {
  const outputs = new Map<TestCase, Uint8Array>();
  let at = 0;
  for await (const run of runGolden(session, terms, execute, cases, signal)) {
    const test = cases[at];
    at += 1;
    if (!test) continue;
    const output = readOutput(execute, run);
    if (!output.bytes)
      throw createGoldenError(test, output.problem.kind === 'no-output' ? output.problem.detail : 'wrote more than a candidate may');
    outputs.set(test, output.bytes);
  }
  return outputs;
}

/**
 * Runs the golden model on one case after the other, each in a workdir that is made again. The tests must be there.
 *
 * @param change of the command, for further measurements. @throws InfrastructureError when it fails.
 */
export async function* runGolden(
  session: WorkspaceSession,
  terms: CandidateTerms,
  execute: CasesStage,
  cases: readonly TestCase[],
  signal: AbortSignal,
  change?: (command: Command) => Command,
): AsyncGenerator<SeriesResult, void> {
  const [first] = cases;
  if (!first) return;
  const { golden } = terms.verifier;
  if (golden === undefined) throw createBrokenError(`case ${first.name} has no expected output, and there is no golden model`);
  const { workdir } = terms.grading.task.workspace;
  const beside = execute.generator ? [execute.generator.command] : [];
  const command = await buildCaseCommand(terms, execute, { command: golden.command, seconds: golden.seconds, beside });
  const runs = {
    command: change ? change(command) : command,
    wiped: [workdir],
    trusted: [],
    files: [],
    workdir,
    output: locateOutput(execute, workdir),
    trustsCommand: change === undefined,
    within: change ? leaveUnbounded : terms.within,
  };
  let at = 0;
  for await (const run of runOnCases(session, runs, cases, signal)) {
    if (run.unlaid !== undefined) throw new RangeError('the golden model was to be run with files of a candidate');
    assertSucceeded(`the golden model on case ${cases[at]?.name}`, run.result);
    at += 1;
    yield run;
  }
}

function createGoldenError({ name }: TestCase, detail: string): InfrastructureError {
  return createBrokenError(`the golden model on case ${name}: ${detail}`);
}

function assertSucceeded(what: string, result: CommandResult): void {
  const { end } = result;
  if (end.kind === 'exited' && end.code === 0) return;
  const how = end.kind === 'exited' ? `status ${end.code}` : end.kind === 'unstartable' ? end.detail : end.kind;
  throw createBrokenError(`${what} failed (${how}): ${joinStreams(result).slice(-2000)}`);
}

function createBrokenError(detail: string): InfrastructureError {
  return new InfrastructureError('task.verifier', detail);
}
