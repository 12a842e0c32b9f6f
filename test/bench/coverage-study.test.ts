import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readOptions, shortTasks } from '../../bench/coverage/options.ts';
import { measure } from '../../bench/coverage/measurement.ts';
import { SCENARIOS, scenarioNamed } from '../../bench/coverage/scenarios.ts';
import { titleOf } from '../../bench/coverage/scenario.ts';
import { study } from '../../bench/coverage/study.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';

failOnLeftoverProcesses();

const PROJECT = join(dirname(fileURLToPath(import.meta.url)), '../..');

const titles = ['approximate: uniform, h = 0.03', 'fixed: normal, n = 3'];
const tasks = titles.map((title) => ({ scenario: scenarioNamed(title), runs: 50 }));

test('figures do not depend on how many threads there are', async () => {
  const done: string[] = [];
  const onRow = ({ scenario }: { scenario: { name: string } }): void => void done.push(scenario.name);
  const rows = await study({ tasks, threads: 3, onRow });
  expect(rows.map(({ measurement }) => measurement)).toEqual(tasks.map(({ scenario, runs }) => measure(scenario, 0, runs)));
  expect(done.sort()).toEqual(['normal, n = 3', 'uniform, h = 0.03']);
});

test('a trial that fails ends the study with its error', async () => {
  const unknown = { scenario: { ...scenarioNamed('fixed: normal, n = 3'), name: 'unknown' }, runs: 1 };
  const running = study({ tasks: [unknown], threads: 2, onRow: () => undefined });
  await expect(running).rejects.toThrow('there is no scenario "fixed: unknown"');
});

test('no two rows have the same title', () => {
  expect(new Set(SCENARIOS.map(titleOf)).size).toBe(SCENARIOS.length);
});

const tasksOf = (...args: string[]): readonly (readonly [string, number])[] => {
  const options = readOptions(args);
  if (typeof options === 'string') throw new Error(options);
  return options.tasks.map(({ scenario, runs }) => [titleOf(scenario), runs]);
};

test('the command line selects the rows, and the number of evaluations for each', () => {
  expect(tasksOf()).toHaveLength(SCENARIOS.length);
  expect(tasksOf('--only', 'certified: uniform', '--only', 'normal, n = 30')).toEqual([
    ['certified: uniform, h = 0.03', 2000],
    ['fixed: normal, n = 30', 20_000],
  ]);
  expect(tasksOf('--runs', '7', '--only', 'normal, n = 30')).toEqual([['fixed: normal, n = 30', 70]]);
  expect(tasksOf('--short')).toEqual(shortTasks().map(({ scenario, runs }) => [titleOf(scenario), runs]));
});

test.each([
  [['--runs', '0'], '--runs 0: expected a whole number from 1 on'],
  [['--threads', 'two'], '--threads two: expected a whole number from 1 on'],
  [['--only', 'nothing'], '--only: no row has "nothing" in its name'],
  [['--short', '--runs', '5'], '--short has its own numbers of evaluations'],
  [['--fast'], "Unknown option '--fast'"],
])('%j is refused', (args, message) => {
  expect(readOptions(args)).toContain(message);
});

test('the command shows tables and targets, and keeps the figures', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'muster-study-'));
  const json = join(directory.path, 'new/figures.json');
  const { exitCode, output } = await command('--runs', '10', '--only', 'certified: uniform', '--threads', '1', '--json', json);
  expect([exitCode, output]).toEqual([0, expect.stringContaining('met     certified: uniform, h = 0.03: coverage')]);
  expect(output).toContain('| uniform, h = 0.03 | 10 ');
  expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({
    rows: [{ group: 'certified', name: 'uniform, h = 0.03', runs: 10, outcomes: { holds: 10 } }],
    checks: [{ met: true }],
  });
});

function start(...args: string[]) {
  return spawn(process.execPath, ['bench/coverage/run.ts', ...args], { cwd: PROJECT });
}

async function command(...args: string[]): Promise<{ exitCode: number | null; output: string }> {
  const child = start(...args);
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { exitCode: child.exitCode, output };
}
