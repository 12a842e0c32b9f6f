import type { SuiteStage } from '../../tasks/muster-schema.ts';
import { CommandLine } from '../../workspace/command-line.ts';
import type { Command, CommandResult } from '../../workspace/command.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import { cleanEnvironment } from '../clean-environment.ts';
import { joinStreams, shortenEvidence, SHOWN_OUTPUT } from '../endings.ts';
import { describeGradingTemplate, TESTS } from '../grading-template.ts';
import { putSubmission } from '../submission.ts';
import { assertStarted, type GradedSuite, isHostRoot, buildSuiteCommand, listSuiteFiles, listTools } from './grade-suite.ts';
import { describeNotRun, readSuiteEvidence } from './suite-report.ts';
import { drawOrders, REPORT, buildSuiteRun } from './suite-run.ts';

const BOUNDARY = '/muster/runner/boundary.py';

/**
 * Runs tests that see the candidate's modules through a proxy. Tests and candidate have a sandbox each, and Muster carries messages between the two:
 * so the candidate sees neither the tests nor their process, and the report is the tests' own.
 */
export async function gradeProxiedSuite(terms: CandidateTerms, execute: SuiteStage, signal: AbortSignal): Promise<GradedSuite> {
  const { task, step, seed } = terms.grading;
  const { workdir, environment } = task.workspace;
  const { sandboxes } = terms.context;
  const template = describeGradingTemplate(task, step, [TESTS], listTools(terms, execute));
  const opened = await sandboxes.openBoth(template, describeGradingTemplate(task, step, []), signal);
  await using trusted = opened[0];
  await using tried = opened[1];
  const either = AbortSignal.any([signal, trusted.signal, tried.signal]);
  await trusted.session.put(await listSuiteFiles(terms, execute), either);
  await trusted.session.wipe(REPORT.slice(0, REPORT.lastIndexOf('/')), either);
  const problem = await putSubmission(tried.session, terms.files, either);
  if (problem !== undefined)
    return { evidence: { stage: 'execute', kind: 'suite', runs: [describeNotRun('shuffled', problem)] }, measured: [] };

  const lines = { tests: new CommandLine(), candidate: new CommandLine() };
  relay(lines.tests, lines.candidate);
  const candidate = tried.session.run(createCandidateCommand(terms, execute), either, lines.candidate).finally(() => lines.tests.hangUp());
  // Awaited below, unless the tests fail first.
  candidate.catch(() => undefined);
  const places = { isHostRoot: isHostRoot(terms), environment: { ...environment, ...terms.verifier.environment } };
  const [order = 0] = drawOrders(seed, 1);
  const run = buildSuiteRun({ ...execute, command: createTestsCommand(execute) }, order, places);
  const result = await trusted.session.run(buildSuiteCommand(terms, execute, run), either, lines.tests);
  endCandidate(lines.candidate);
  const used = await candidate;
  for (const ended of [result, used]) assertStarted(ended, workdir, execute);
  const evidence = await readSuiteEvidence(trusted.session, execute, result, { workdir, order: 'shuffled' }, either);
  return {
    evidence: { stage: 'execute', kind: 'suite', runs: [{ ...evidence, output: withCandidate(evidence.output, used) }] },
    measured: [used],
  };
}

/** Splits `python3 FLAGS -m pytest ARGUMENTS` into parts. */
function splitSuiteCommand({ command }: SuiteStage): {
  readonly python: readonly string[];
  readonly runner: string;
  readonly rest: readonly string[];
} {
  const at = command.indexOf('-m');
  return { python: [...command.slice(0, at), '-B', BOUNDARY], runner: command[at + 1] ?? '', rest: command.slice(at + 2) };
}

function createTestsCommand(execute: SuiteStage): string[] {
  const { python, runner, rest } = splitSuiteCommand(execute);
  const modules = execute.modules.flatMap((module) => ['--module', module]);
  const classes = execute.classes.flatMap((name) => ['--class', name]);
  return [...python, 'tests', '--path', TESTS, ...modules, ...classes, '--run', runner, '--', ...rest];
}

function createCandidateCommand({ grading, verifier, within }: CandidateTerms, execute: SuiteStage): Command {
  const { workdir, environment } = grading.task.workspace;
  return {
    argv: [...splitSuiteCommand(execute).python, 'candidate', '--path', workdir],
    directory: workdir,
    environment: cleanEnvironment(environment, verifier.environment),
    seconds: within(execute.seconds),
    output: SHOWN_OUTPUT,
  };
}

function withCandidate(output: string, used: CommandResult): string {
  const printed = joinStreams(used);
  return printed === '' ? output : shortenEvidence(`${output}\nthe candidate printed:\n${printed}`);
}

/** The largest message with its length. The two sides take turns. */
const TURN_BYTES = 16 * 2 ** 20 + 4;
/** The candidate has this time to end by itself, so that its output is not cut off. */
const LAST_SECONDS = 1;

/** Carries the messages of tests and candidate. The candidate may send one message before the tests answer, and is cut off beyond that. */
function relay(tests: CommandLine, candidate: CommandLine): void {
  let said = 0;
  tests.onData((data) => {
    said = 0;
    candidate.write(data);
  });
  candidate.onData((data) => {
    said += data.length;
    if (said <= TURN_BYTES) tests.write(data);
    else endCandidate(candidate);
  });
}

function endCandidate(candidate: CommandLine): void {
  candidate.hangUp(LAST_SECONDS);
}
