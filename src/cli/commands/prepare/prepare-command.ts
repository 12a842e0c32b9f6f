import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ALLOWED_LICENCES } from '../../../agents/preparation/licence.ts';
import type { Preparation, ProofOfTasks } from '../../../agents/preparation/preparation-report.ts';
import type { PrepareListeners, PrepareTerms } from '../../../app/preparation/prepare-terms.ts';
import { addNeededOption } from '../../flags/needed-option.ts';
import { collect, parseWholeNumber, parseWholeNumberFromZero } from '../../flags/flag-values.ts';
import { EXIT_CODES } from '../../terminal/exit-code.ts';
import { runInterruptibly } from '../../terminal/interruption.ts';
import { print, formatJson } from '../../terminal/output.ts';
import { reportFile } from '../report-file.ts';
import { PreparationProgress } from './preparation-progress.ts';

/** `muster prepare` gets this from the composition root. */
export type PrepareTasks = (
  terms: PrepareTerms,
  config: string | undefined,
  listeners: PrepareListeners,
  signal: AbortSignal,
) => Promise<Preparation>;

/** Plays every task of a suite with the agents oracle and nop. */
export type ProveTasks = (suite: string, config: string | undefined, signal: AbortSignal) => Promise<ProofOfTasks>;

interface PrepareFlags extends Pick<PrepareTerms, 'out' | 'commits' | 'mutations' | 'testSeconds'> {
  readonly allowLicence?: readonly string[];
  readonly since?: number;
  readonly registry?: readonly string[];
  readonly testArgument?: readonly string[];
  readonly issues?: string;
  readonly writer?: string;
  readonly workers?: number;
  readonly config?: string;
  readonly json?: true;
}

export function createPrepareCommand(prepare: PrepareTasks, prove: ProveTasks): Command {
  const command = new Command('prepare')
    .summary('make tasks of a repository')
    .description(
      'Turns the history of a repository, or mutations of its code, into tasks for agents. A task is written when its solution has scored 1 and nothing done and every standard cheat 0, each three times, without network. Last, the agents oracle and nop play all tasks as a suite. The directory also gets report.html and report.json, which say what each step refused and why.',
    )
    .argument('<repository>', 'a path, a bundle, or a URL that git can clone; a directory without a history takes mutations only')
    .option('--commits <count>', 'how many commits of the history are looked at, from HEAD on', parseWholeNumberFromZero, 100)
    .option('--mutations <count>', 'how many mutations of the code are tried', parseWholeNumberFromZero, 0)
    .option('--since <date>', 'leave out commits before this date, such as 2025-01-31', parseDay)
    .option('--allow-licence <id>', `also allow this licence; "any" allows all (allowed: ${ALLOWED_LICENCES.join(', ')})`, collect)
    .option('--registry <host>', 'a host that the installation of dependencies may reach; without one nothing is installed', collect)
    .option('--test-seconds <count>', 'how long one run of the tests may take', parseWholeNumber, 600)
    .option('--test-argument <word>', 'a word for the command that runs the tests; with CMake, for its configuration', collect)
    .option(
      '--issues <source>',
      'also take the text of the issues that messages name, from a JSON file or https://api.github.com/repos/OWNER/NAME (token: MUSTER_ISSUES_TOKEN)',
    )
    .option(
      '--writer <file>',
      'the file of a model (docs/agents.md) that writes the instruction where the message of a commit says nothing',
    )
    .option('--workers <count>', 'how many candidates are prepared at a time (default: one for each processor)', parseWholeNumber)
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', HELP)
    .action(async (repository: string, flags: PrepareFlags) => {
      process.exitCode = await runPrepare({ prepare, prove }, repository, flags);
    });
  return addNeededOption(command, new Option('-o, --out <directory>', 'where the directories of the tasks are made'));
}

const HELP = `
Give the same command again after an interruption: every step that has been taken is kept.

Exit codes:
  0    at least one task was made
  2    bad input, no candidate became a task, or the tasks failed the last proof
  3    the infrastructure failed
  130  interrupted

Examples:
  muster prepare ../library --out tasks/library --mutations 20
  muster eval tasks/library/suite.yaml --agent agent.yaml`;

async function runPrepare(
  { prepare, prove }: { readonly prepare: PrepareTasks; readonly prove: ProveTasks },
  repository: string,
  flags: PrepareFlags,
): Promise<number> {
  const { out, json, config } = flags;
  await mkdir(out, { recursive: true });
  const page = await reportFile(join(out, 'report.html'), '--out');
  const terms = readTerms(repository, flags);
  return await runInterruptibly('interrupted; the same command continues from here', async (signal) => {
    const made = await showPreparation(json === true, (progress) => prepare(terms, config, progress, signal));
    const tasks = made.candidates.filter(({ task }) => task !== null).length;
    const suite = join(out, 'suite.yaml');
    if (tasks > 0) {
      await writeWhole(suite, writeSuite(made));
      if (json !== true || process.stderr.isTTY) await print(process.stderr, 'Now oracle and nop play all tasks, as the last proof.\n');
    }
    const prepared = tasks === 0 ? made : { ...made, proof: await prove(suite, config, signal) };
    await page.write({ kind: 'preparation', preparation: prepared });
    await writeWhole(join(out, 'report.json'), formatJson(prepared));
    if (json) await print(process.stdout, formatJson(prepared));
    else await print(process.stdout, `${summarise(prepared, out).join('\n')}\n`);
    return chooseExitCode(tasks, prepared.proof);
  });
}

/** The display ends with the preparation, before anything else is printed. */
async function showPreparation(isQuiet: boolean, work: (progress: PrepareListeners) => Promise<Preparation>): Promise<Preparation> {
  using progress = new PreparationProgress(process.stderr, isQuiet);
  return await work(progress);
}

function chooseExitCode(tasks: number, proof: ProofOfTasks): number {
  if (tasks > 0 && proof.every(({ isAsExpected }) => isAsExpected)) return EXIT_CODES.done;
  const isUnsound = tasks === 0 || proof.some(({ mean, isAsExpected }) => mean !== null && !isAsExpected);
  return isUnsound ? EXIT_CODES.badInput : EXIT_CODES.infrastructure;
}

function describeProof({ agent, episodes, mean, isAsExpected }: ProofOfTasks[number]): string {
  if (mean === null)
    return `${agent} could not play all of ${episodes} episodes, because the infrastructure failed: give the same command again`;
  const odd = isAsExpected ? '' : `, and has to score ${agent === 'oracle' ? 1 : 0} in each: do not use the tasks`;
  return `${agent} scored ${mean} in ${episodes} episodes${odd}`;
}

function readTerms(repository: string, flags: PrepareFlags): PrepareTerms {
  const { out, commits, mutations, testSeconds, since = 0, workers, issues, writer } = flags;
  const { allowLicence = [], registry = [], testArgument = [] } = flags;
  const licences = [...ALLOWED_LICENCES, ...allowLicence];
  return {
    repository,
    out,
    commits,
    mutations,
    licences,
    since,
    testSeconds,
    testArguments: testArgument,
    workers,
    issues,
    writer,
    registries: registry,
  };
}

function summarise({ candidates, refusedBy, notices, seconds, proof }: Preparation, out: string): readonly string[] {
  const tasks = candidates.flatMap(({ task }) => (task === null ? [] : [join(out, task.directory)]));
  const refusals = Object.entries(refusedBy).map(([step, count]) => `${count} by ${step}`);
  const voids = candidates.filter((each) => each.void !== null).length;
  return [
    ...tasks,
    `${candidates.length} candidates, ${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}${refusals.length > 0 ? `; refused: ${refusals.join(', ')}` : ''}${voids > 0 ? `; void: ${voids}, give the same command again` : ''} (${Math.round(seconds)} s)`,
    ...proof.map(describeProof),
    ...notices,
    `${join(out, 'report.html')} shows why.`,
  ];
}

/** Writes a suite of all tasks, on which agents can be evaluated. */
function writeSuite({ repository, candidates }: Preparation): string {
  const name =
    repository
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'prepared';
  return `name: ${name.slice(0, 40)}\ntasks:\n  from: .\nagent: oracle\nseed: 1\nstop:\n  rule: certified\n  halfWidth: 0.1\nbudget:\n  episodes: ${Math.max(1000, 20 * candidates.filter(({ task }) => task !== null).length)}\n`;
}

async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.partial`, text);
  await rename(`${path}.partial`, path);
}

function parseDay(text: string): number {
  const milliseconds = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isFinite(milliseconds)) return milliseconds / 1000;
  throw new InvalidArgumentError('expected a date such as 2025-01-31.');
}
