import { afterAll, beforeAll, expect, test } from 'vitest';
import { sampled } from '../../support/full-form.ts';
import { failOnLeftoverProcesses } from '../../support/no-leftovers.ts';
import { StudyCopy } from './mutant.ts';
import type { Mutant } from './mutant.ts';

failOnLeftoverProcesses();

let copy: StudyCopy;
beforeAll(async () => {
  copy = await StudyCopy.create();
});
afterAll(() => copy[Symbol.asyncDispose]());

const SUCCESSES = 'certified: Bernoulli(0.9), h = 0.05';
const LOSSES = 'fixed: Bernoulli(0.9), 3 failures in 10 lost, n = 1000';
const WATCHED = 'watched: certified at 60 %, Bernoulli(0.1), h = 0.04, 200 episodes';
const NORMAL = 'fixed: normal, n = 3';
const APPROXIMATE = 'approximate: Bernoulli(0.98), h = 0.02';
const DISASTER = 'asymptotic: 1 % at 0, the rest in [0.95, 1], h = 0.01';
const UNBOUNDED = 'asymptotic: Bernoulli(0.98), bounds not declared, h = 0.02';
const TASKS = 'tasks: task population, clustered, 20 tasks';

const TASKS_INDEPENDENT: Mutant = {
  name: 'episodes of one task taken for independent',
  file: 'intervals/clustered-error.ts',
  edits: [['(cluster.count * (cluster.mean - mean)) ** 2', 'cluster.count * (cluster.mean - mean) ** 2']],
};

/** What the study is for, one mistake each, and the row that has to miss its target then. Without a mistake the test of the short study passes it. */
const MUTANTS: readonly (Mutant & { readonly row: string })[] = [
  {
    name: 'a fold that takes episodes as they arrive',
    file: 'prefix-fold.ts',
    edits: [
      [`if (this.#buffer.hasSeen(index)) return { kind: 'duplicate' };`, ''],
      ['this.#buffer.put(index, { task, outcome });', 'this.#buffer.put(this.#buffer.next, { task, outcome });'],
    ],
    row: SUCCESSES,
  },
  {
    name: 'failed episodes left out',
    file: 'prefix-fold.ts',
    edits: [['this.#rule.fold(score);', `if (outcome.kind === 'failed') continue;\nthis.#rule.fold(score);`]],
    row: SUCCESSES,
  },
  {
    name: 'unresolved episodes left out',
    file: 'prefix-fold.ts',
    edits: [['this.#rule.fold(score);', `if (outcome.kind === 'lost') continue;\nthis.#rule.fold(score);`]],
    row: LOSSES,
  },
  {
    name: 'a bet that knows the return it is made on',
    file: 'stopping/certified.ts',
    edits: [
      ['    if (low === high) this.#learn(low);\n    else this.#unresolved += 1;\n', ''],
      ['    settleBets(this.#upward', '    if (low === high) this.#learn(low);\n    settleBets(this.#upward'],
    ],
    row: WATCHED,
  },
  {
    name: 'all of α at either end of the confidence sequence',
    file: 'stopping/certified.ts',
    edits: [['Math.log(2 / (1 - confidence))', 'Math.log(1 / (1 - confidence))']],
    row: WATCHED,
  },
  {
    name: 'all of α at either end of an interval for a fixed number',
    file: 'intervals/intervals.ts',
    edits: [['return (1 + confidence) / 2;', 'return confidence;']],
    row: NORMAL,
  },
  {
    name: 'a variance with divisor n',
    file: 'intervals/moments.ts',
    edits: [['this.#squares / (this.#count - 1)', 'this.#squares / this.#count']],
    row: NORMAL,
  },
  {
    name: 'an approximate rule without pseudo-episodes on the bounds',
    file: 'intervals/intervals.ts',
    edits: [['const pseudo = computeNormalQuantile(computeUpperTail(confidence)) ** 2 / 2;', 'const pseudo = 0;']],
    row: APPROXIMATE,
  },
  {
    name: 'an asymptotic rule that trusts the deviation of returns that are all the same',
    file: 'stopping/asymptotic-rule.ts',
    edits: [['const FEWEST_OFF_MODE = 10;', 'const FEWEST_OFF_MODE = 0;']],
    row: UNBOUNDED,
  },
  {
    name: 'an asymptotic rule without pseudo-episodes on the bounds',
    file: 'stopping/asymptotic-sequence.ts',
    edits: [
      ['bounds === undefined ? this.#computeUnbounded(values) : this.#computeBounded(values, bounds)', 'this.#computeUnbounded(values)'],
    ],
    row: DISASTER,
  },
  {
    name: 'bets that risk no more than a quarter of the capital',
    file: 'stopping/bet-capital.ts',
    edits: [['export const BET_CAP = 0.95;', 'export const BET_CAP = 0.25;']],
    row: SUCCESSES,
  },
  { ...TASKS_INDEPENDENT, row: TASKS },
];

/** The short form makes one mistake in the fold, in each kind of interval and in each stopping rule. */
const SHORT_FORM = new Set([
  'failed episodes left out',
  'all of α at either end of the confidence sequence',
  'a variance with divisor n',
  'an approximate rule without pseudo-episodes on the bounds',
  'an asymptotic rule that trusts the deviation of returns that are all the same',
  TASKS_INDEPENDENT.name,
]);

test.each(sampled(MUTANTS, ({ name }) => SHORT_FORM.has(name)))('the study catches $name', async ({ row, ...mutant }) => {
  const { exitCode, output } = await copy.mistaken(mutant, () => copy.check(row));
  expect(output).toContain(`MISSED  ${row}`);
  expect(exitCode).toBe(1);
});

test('the command reports missed targets, and exits with 1', async () => {
  const missed = await copy.mistaken(TASKS_INDEPENDENT, () => copy.command(TASKS));
  expect(missed).toEqual({ exitCode: 1, output: expect.stringContaining(`MISSED  ${TASKS}`) });
});

test('a mistake that can no longer be made is an error, not a success', async () => {
  const gone: Mutant = { name: 'gone', file: 'intervals/moments.ts', edits: [['no such text', '']] };
  await expect(copy.mistaken(gone, () => copy.check(NORMAL))).rejects.toThrow(
    /moments\.ts: expected exactly once, found 0 times: no such text/,
  );
});
