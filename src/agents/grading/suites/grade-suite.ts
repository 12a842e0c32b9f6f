import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SuiteStage } from '../../tasks/muster-schema.ts';
import type { SuiteEvidence } from '../../verification/evidence.ts';
import { judgeTests } from '../../verification/judge-tests.ts';
import type { Command, CommandResult, WorkspaceFile } from '../../workspace/command.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import { cleanEnvironment } from '../clean-environment.ts';
import { describeGradingTemplate, TESTS, readTestFiles, LOGS } from '../grading-template.ts';
import type { GradingTool } from '../grading-sandboxes.ts';
import type { MeasuredRuns } from '../measures/measure-constraints.ts';
import { putSubmission } from '../submission.ts';
import { boundOutput, describeNotRun, readSuiteEvidence } from './suite-report.ts';
import { drawOrders, REPORT, buildSuiteRun, type SuiteRun } from './suite-run.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';

export interface GradedSuite {
  readonly evidence: SuiteEvidence;
  readonly measured: MeasuredRuns;
}

/**
 * Runs tests that import the candidate: twice, each time in another order, unless the first run has decided. The candidate can control their process,
 * so no statement of it is believed for itself: the report is read when all of it is dead, and tripwires show a forgery.
 */
export async function gradeSharedSuite(terms: CandidateTerms, execute: SuiteStage, signal: AbortSignal): Promise<GradedSuite> {
  const { task, step, seed } = terms.grading;
  const { workdir, environment } = task.workspace;
  const tests = await listSuiteFiles(terms, execute);
  const places = { isHostRoot: isHostRoot(terms), environment: { ...environment, ...terms.verifier.environment } };
  const runs: SuiteEvidence['runs'] = [];
  const measured: CommandResult[] = [];
  await using sandbox = await terms.context.sandboxes.open(describeGradingTemplate(task, step, [TESTS], listTools(terms, execute)), signal);
  const { session } = sandbox;
  const either = AbortSignal.any([signal, sandbox.signal]);
  for (const order of drawOrders(seed, 2)) {
    const problem = (await makeAnew(session, terms, [TESTS], either)) ?? (await putSubmission(session, tests, either));
    if (problem !== undefined) {
      runs.push(describeNotRun('shuffled', problem));
      break;
    }
    await session.wipe(REPORT.slice(0, REPORT.lastIndexOf('/')), either);
    const result = await session.run(buildSuiteCommand(terms, execute, buildSuiteRun(execute, order, places)), either);
    assertStarted(result, workdir, execute);
    measured.push(result);
    runs.push(await readSuiteEvidence(session, execute, result, { workdir, order: 'shuffled' }, either));
    // Its memory limit has ended the whole sandbox.
    if (result.end.kind === 'out-of-memory') break;
    // The second run could only take away from what the first has left.
    if (judgeTests(execute, runs).share === 0) break;
  }
  return { evidence: { stage: 'execute', kind: 'suite', runs }, measured };
}

export function isHostRoot({ grading }: CandidateTerms): boolean {
  return grading.task.workspace.root.kind === 'host';
}

export function listTools(terms: CandidateTerms, { runner }: SuiteStage): readonly GradingTool[] {
  return isHostRoot(terms) ? listRunnerTools(runner) : [];
}

/** Lists what a runner needs besides this machine's own root file system. */
export function listRunnerTools(runner: SuiteStage['runner']): readonly GradingTool[] {
  return runner === 'pytest' || runner === 'go' ? [runner] : [];
}

/** Lists the tests at /tests, without the lists of counting tests, and those that are laid over the workdir. */
export async function listSuiteFiles({ grading }: CandidateTerms, execute: SuiteStage): Promise<readonly WorkspaceFile[]> {
  const { task, step, content } = grading;
  const lists = new Set(execute.lists.map((path) => `${TESTS}/${path}`));
  const files = (await readTestFiles(task, step, content)).filter(({ path }) => !lists.has(path));
  if (execute.overlay === undefined) return files;
  return [...files, ...(await readTestFiles(task, step, content, `${execute.overlay}/`, task.workspace.workdir))];
}

export function buildSuiteCommand(
  { grading, verifier, within }: CandidateTerms,
  execute: SuiteStage,
  { argv, environment }: SuiteRun,
): Command {
  const { workdir, environment: declared } = grading.task.workspace;
  return {
    argv,
    directory: workdir,
    environment: cleanEnvironment(declared, verifier.environment, environment),
    seconds: within(execute.seconds),
    output: boundOutput(execute),
  };
}

/** A missing runner is not the submission's fault, unless it should be a part of the submission. */
export function assertStarted({ end }: CommandResult, workdir: string, { command: [program = ''] }: Pick<SuiteStage, 'command'>): void {
  if (end.kind !== 'unstartable') return;
  const isSubmitted = program.includes('/') && (!program.startsWith('/') || program.startsWith(`${workdir}/`));
  if (!isSubmitted) throw new InfrastructureError('task.verifier', `${end.detail}; the root file system needs it for the tests`);
}

/**
 * Makes all writable directories again and puts the candidate's files there: nothing is left of the previous run.
 *
 * @param own directories of the sandbox besides those of the task. @returns why the candidate could not be placed.
 */
async function makeAnew(
  session: WorkspaceSession,
  { grading, files }: CandidateTerms,
  own: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { task, step } = grading;
  for (const directory of ['/tmp', '/dev/shm', LOGS, ...own, ...describeGradingTemplate(task, step, []).writable])
    await session.wipe(directory, signal);
  return await putSubmission(session, files, signal);
}
