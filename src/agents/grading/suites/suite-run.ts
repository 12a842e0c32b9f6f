import { createSeededRandom, drawIndex } from '../../../kernel/seeded-random.ts';
import type { RunnerKind, SuiteStage } from '../../tasks/muster-schema.ts';
import { LOGS, TESTS } from '../grading-template.ts';
import { PYTEST_INSIDE } from '../grading-sandboxes.ts';
import { seedRandom, shuffle } from '../order-of-runs.ts';

/** The path of `{report}`. */
export const REPORT = `${LOGS}/report/results`;
const PLUGINS = '/muster/runner/pytest_plugins';
const LARGEST_ORDER = 2 ** 31 - 1;

export interface SuiteRun {
  readonly argv: readonly string[];
  /** These variables override those of the task. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Says where Python finds modules. With `isHostRoot`, the root is the machine's own, so pytest has to be mounted. */
export interface PythonSettings {
  readonly isHostRoot: boolean;
  /** The task's own PYTHONPATH and PYTEST_ADDOPTS. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Draws the numbers that decide the order of each run: distinct ones, which follow from the verdict's seed. */
export function drawOrders(seed: string, runs: number): readonly number[] {
  const random = seedRandom('order of tests', seed);
  const orders = new Set<number>();
  while (orders.size < runs) orders.add(1 + drawIndex(random, LARGEST_ORDER - 1));
  return [...orders];
}

/**
 * Builds the command. `{report}` becomes the report's file, `{seed}` the order, and `{tests}` the ids of all tests in that order. pytest has neither
 * of the latter two: a plug-in orders its tests, by variables of its environment.
 */
export function buildSuiteRun(execute: SuiteStage, order: number, places: PythonSettings): SuiteRun {
  const { command, failToPass, passToPass, tripwires, runner } = execute;
  const ids = [...failToPass, ...passToPass, ...tripwires.map(({ id }) => id)];
  const tests = shuffle(ids, createSeededRandom('tests', order));
  const argv = command.flatMap((word) => {
    if (word === '{tests}') return tests;
    return [word.replaceAll('{report}', REPORT).replaceAll('{seed}', `${order}`)];
  });
  return { argv, environment: buildPythonEnvironment(runner, order, places) };
}

/** Builds the environment of runners that are written in Python. */
export function buildPythonEnvironment(
  runner: RunnerKind,
  order: number,
  { isHostRoot, environment }: PythonSettings,
): SuiteRun['environment'] {
  if (runner !== 'pytest' && runner !== 'unittest') return {};
  const own = runner === 'unittest' ? [TESTS] : isHostRoot ? [PLUGINS, PYTEST_INSIDE] : [PLUGINS];
  const path = [environment['PYTHONPATH'] ?? '', ...own].filter((each) => each !== '').join(':');
  const python = { PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1', PYTHONHASHSEED: `${order}` };
  if (runner === 'unittest') return python;
  const options = [environment['PYTEST_ADDOPTS'] ?? '', '-p muster_order -p no:cacheprovider'].join(' ').trim();
  const pytest = { ...python, PYTEST_ADDOPTS: options, MUSTER_ORDER: `${order}` };
  return isHostRoot ? { ...pytest, PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1' } : pytest;
}
