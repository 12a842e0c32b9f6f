import { z } from 'zod';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import { cleanEnvironment } from '../../agents/grading/clean-environment.ts';
import { LOGS } from '../../agents/grading/grading-template.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import { listRunnerTools } from '../../agents/grading/suites/grade-suite.ts';
import { boundOutput, readSuiteEvidence } from '../../agents/grading/suites/suite-report.ts';
import { buildSuiteRun, REPORT } from '../../agents/grading/suites/suite-run.ts';
import { WORKDIR } from '../../agents/preparation/emitted-task.ts';
import type { SuiteCommand } from '../../agents/preparation/languages/language-adapter.ts';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import type { Repeats, RunTwist } from '../../agents/preparation/steadiness.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import { leaveOutWaiting } from '../../agents/preparation/time-scale.ts';
import type { SuiteStage } from '../../agents/tasks/muster-schema.ts';
import { gatherOutcomes } from '../../agents/preparation/derivation.ts';
import { testResultSchema } from '../../agents/verification/evidence.ts';
import type { WorkspaceSession } from '../../agents/workspace/workspace-session.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { figuresSchema } from './repeated-tests.ts';
import { readOutput, withRepository } from './preparation-sandbox.ts';

const runSchema = z.strictObject({
  results: z.array(testResultSchema),
  problem: z.string().nullable(),
  ending: z.string(),
  seconds: z.number(),
  output: z.string(),
  needNetwork: z.array(z.string()).readonly(),
  figures: z.unknown(),
});
/** One run of tests, as far as later steps read it. `seconds` exclude the time in which a busy machine kept it from running. */
export type TestRun = z.infer<typeof runSchema>;

export interface RunRequest {
  readonly step: string;
  readonly files: SourceFiles;
  readonly dependencies: SourceFiles;
  readonly suite: SuiteCommand;
  readonly environment: Readonly<Record<string, string>>;
  /** Test ids for the command, where it accepts them. */
  readonly ids: readonly string[];
  readonly twist: RunTwist;
  /** Decides the order, where that is not the usual one. */
  readonly seed: number;
  readonly seconds: number;
  /** A plug-in of pytest where there is one, and the variables that it or the command reads. It writes its figures to the file in `FIGURES`. */
  readonly plugin?: { readonly name: string | undefined; readonly environment: Readonly<Record<string, string>> };
}

export const FIGURES = `${LOGS}/figures.json`;
const FIGURES_BYTES = 16 * 2 ** 20;
/** Overhead of a run. */
const LEAST_SECONDS = 0.05;
/** The largest number of seconds that repetitions on a busy machine may have waited; then no further one begins. */
const MOST_WAITED_SECONDS = 200;
const CLOCK = `${LOGS}/clock.so`;
/** Changes year, month, weekday and hour. */
const AHEAD_SECONDS = 400 * 86_400 + 5 * 3600 + 1234;
const COMPILE = ['cc', '-shared', '-fPIC', '-O1', '-o', CLOCK, '/muster/runner/muster_preparation/clock.c', '-ldl'];

/** Runs tests in fresh sandboxes without network; a repeated run of the same files in the same way is not made again. */
export class TestRuns {
  readonly #sandboxes: GradingSandboxes;
  readonly #steps: StepStore;

  constructor(sandboxes: GradingSandboxes, steps: StepStore) {
    this.#sandboxes = sandboxes;
    this.#steps = steps;
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<TestRun> {
    return await this.#steps.remember('run', describeInputs(request), runSchema, () =>
      this.#place(request, async (session, until) => (await runOnce(session, request, until)).run, signal),
    );
  }

  /** Runs the tests repeatedly in one sandbox. @param bounds how often, and how many seconds in total. */
  async repeat(request: RunRequest, bounds: RepeatBounds, signal: AbortSignal): Promise<ReadonlyMap<string, Repeats>> {
    const inputs = { ...describeInputs(request), bounds };
    const figures = await this.#steps.remember('repeat', inputs, figuresSchema, () =>
      this.#place(request, (session, until) => runOften(session, request, bounds, until), signal),
    );
    return new Map(Object.entries(figures));
  }

  #place<Result>(
    request: RunRequest,
    use: (session: WorkspaceSession, until: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const { files, dependencies, suite } = request;
    return withRepository(this.#sandboxes, { files, dependencies, tests: suite.files, tools: listRunnerTools(suite.runner) }, use, signal);
  }
}

export interface RepeatBounds {
  readonly runs: number;
  readonly seconds: number;
}

function describeInputs({
  files,
  dependencies,
  suite,
  environment,
  ids,
  twist,
  seed,
  seconds,
  plugin,
}: RunRequest): Readonly<Record<string, unknown>> {
  const digests = { files: digestFiles(files), dependencies: digestFiles(dependencies) };
  return { ...digests, suite, environment, ids, twist, seed, seconds, plugin: plugin ?? null };
}

async function runOften(
  session: WorkspaceSession,
  request: RunRequest,
  bounds: RepeatBounds,
  signal: AbortSignal,
): Promise<z.infer<typeof figuresSchema>> {
  const figures: z.infer<typeof figuresSchema> = {};
  for (let [count, spent, waited] = [0, 0, 0]; count < bounds.runs && spent < bounds.seconds && waited < MOST_WAITED_SECONDS; count += 1) {
    const { run, waitedSeconds } = await runOnce(session, request, signal);
    spent += Math.max(run.seconds, LEAST_SECONDS);
    waited += waitedSeconds;
    for (const [id, outcome] of gatherOutcomes(run.results)) {
      const { runs, failures } = figures[id] ?? { runs: 0, failures: 0 };
      figures[id] = { runs: runs + 1, failures: failures + (outcome === 'passed' ? 0 : 1) };
    }
  }
  return figures;
}

async function runOnce(
  session: WorkspaceSession,
  request: RunRequest,
  signal: AbortSignal,
): Promise<{ readonly run: TestRun; readonly waitedSeconds: number }> {
  const { suite, environment, ids, twist, seed, seconds, plugin } = request;
  const stage = describeStage(suite, ids, seconds);
  const suiteRun = buildSuiteRun(stage, seed, { isHostRoot: true, environment: { ...environment, ...describePlugin(plugin?.name) } });
  const order = twist === 'none' ? { MUSTER_ORDER: '', PYTHONHASHSEED: '0' } : {};
  const clock = twist === 'clock' ? await shiftClock(session, signal) : {};
  // pytest shortens its summary to the width of a terminal, and with it the reason of a failure.
  const width = { COLUMNS: '400' };
  const variables = cleanEnvironment(environment, suiteRun.environment, order, clock, width, plugin?.environment ?? {});
  await session.wipe(REPORT.slice(0, REPORT.lastIndexOf('/')), signal);
  const waitedBefore = session.waitedSeconds;
  const result = await session.run(
    { argv: suiteRun.argv, directory: WORKDIR, environment: variables, seconds, output: boundOutput(stage) },
    signal,
  );
  const evidence = await readSuiteEvidence(session, stage, result, { workdir: WORKDIR, order: 'shuffled' }, signal);
  const figures = plugin === undefined ? null : await readFigures(session, signal);
  const { results, problem } = evidence;
  const taken = leaveOutWaiting(result, session.waitedSeconds - waitedBefore);
  const run = { results, problem, ending: evidence.ending.kind, seconds: taken, figures, ...readOutput(result) };
  return { run, waitedSeconds: result.seconds - taken };
}

function describePlugin(name: string | undefined): Readonly<Record<string, string>> {
  return name === undefined ? {} : { PYTEST_ADDOPTS: `-p ${name}` };
}

function describeStage({ runner, command }: SuiteCommand, ids: readonly string[], seconds: number): SuiteStage {
  return {
    kind: 'suite',
    runner,
    command: [...command],
    failToPass: ids,
    passToPass: [],
    lists: [],
    boundary: 'shared',
    modules: [],
    classes: [],
    tripwires: [],
    seconds,
  };
}

/** Without a compiler the time is not changed, only the order. */
async function shiftClock(session: WorkspaceSession, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const output = { head: 4096, tail: 0, most: 2 ** 20 };
  const { end } = await session.run({ argv: COMPILE, directory: '/tmp', environment: cleanEnvironment(), seconds: 60, output }, signal);
  if (end.kind !== 'exited' || end.code !== 0) return {};
  return { LD_PRELOAD: CLOCK, MUSTER_CLOCK_OFFSET: `${AHEAD_SECONDS}`, TZ: 'Pacific/Auckland' };
}

async function readFigures(session: WorkspaceSession, signal: AbortSignal): Promise<unknown> {
  const collected = await session.collect([FIGURES], { files: 1, bytes: FIGURES_BYTES }, signal);
  if (collected.kind === 'refused') return null;
  return tryParseJson(collected.files[0]?.content.toString('utf8') ?? '') ?? null;
}
