import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FileContents } from '../../support/grading-fixture.ts';
import { isFullForm } from '../../support/full-form.ts';
import { PATIENCE_MS, prepareFixture } from '../../support/prepared-repository.ts';
import { RepositoryFixture, SUMS } from '../../support/repository-fixture.ts';

let fixture: RepositoryFixture;

beforeAll(async () => {
  fixture = await RepositoryFixture.make();
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

it(
  'a fix with its tests and the issue that its message names becomes a task whose soundness has been shown; tags, packed references and the reflog that lead to it are reported',
  async () => {
    await fixture.commit('Begin with sums', SUMS.before);
    await fixture.commit(`${SUMS.message}\n\nFixes #7.`, SUMS.fix);
    const issues = path.join(fixture.directory, 'issues.json');
    const body = 'A report of an empty week ends with ZeroDivisionError.\nSee test_mean_of_none.';
    await writeFile(issues, JSON.stringify([{ number: 7, title: 'An empty list has no mean', body }]));
    await fixture.git('tag', 'v1');
    await fixture.git('pack-refs', '--all');
    await fixture.git('tag', 'v1.1');
    await fixture.commit('Test more', { 'tests/test_more.py': 'def test_more():\n    assert 1 + 1 == 2\n' });
    const { candidates, refusedBy } = await prepareFixture(fixture, { issues });
    expect(refusedBy).toEqual({ discover: 2 });
    const [, fix] = candidates;
    expect(fix).toMatchObject({
      title: 'Give a mean of no numbers',
      refusal: null,
      evidence: {
        failToPass: ['tests/test_sums.py::test_mean_of_none'],
        passToPass: 2,
        tripwires: 3,
        instruction: { source: 'issue', issues: [7], leftOut: ['See test_mean_of_none.'] },
        leaks: expect.arrayContaining([
          expect.stringContaining('packed reference refs/tags/v1'),
          expect.stringContaining('tag refs/tags/v1.1'),
          expect.stringContaining('reflog'),
        ]),
        soundness: { isSound: true },
      },
    });
    const trials = fix?.evidence.soundness?.trials ?? [];
    expect(trials.map(({ role, rewards }) => [role, ...rewards]).slice(0, 2)).toEqual([
      ['oracle', 1, 1, 1],
      ['nop', 0, 0, 0],
    ]);
    expect(trials.filter(({ role }) => role === 'cheat').map(({ rewards }) => rewards)).toEqual(Array.from({ length: 7 }, () => [0, 0, 0]));
    const directory = (await readdir(fixture.out)).find((name) => name.startsWith('sums-')) ?? '';
    const task = path.join(fixture.out, directory);
    const instruction = await readFile(path.join(task, 'instruction.md'), 'utf8');
    expect(instruction).not.toContain('test_');
    expect(instruction).toContain('An empty list has no mean\n\nA report of an empty week ends with ZeroDivisionError.\n');
    expect(await readFile(path.join(task, 'environment/tests/test_sums.py'), 'utf8')).toBe(SUMS.before['tests/test_sums.py']);
    expect(await readdir(path.join(task, 'environment'))).not.toContain('.git');
  },
  PATIENCE_MS,
);

/** Each wavers in its own way, the same in every run of this test; the fix comes with one that is steady. */
const WAVERING = `import os
import time
import urllib.request

import sums

CALLS = []
SEEN = []


def test_seldom():
    CALLS.append(1)
    assert len(CALLS) % 20


def test_this_year():
    assert time.time() < os.stat(__file__).st_mtime + 30 * 86400


def test_first():
    SEEN.append(1)
    assert sums.add(1, 1) == 2


def test_second():
    assert SEEN


def test_drawn():
    assert os.environ["PYTHONHASHSEED"] == "0" or hash("sums") == 1


def test_online():
    urllib.request.urlopen("http://example.com/")
`;

describe.runIf(isFullForm)('what is wrong with a repository', () => {
  it(
    'tests that waver by chance, time, order or seed are found, with their rate, and so is one that needs a network',
    async () => {
      await using made = await RepositoryFixture.make();
      await made.commit('Begin with sums', { ...SUMS.before, 'tests/test_wavering.py': WAVERING });
      await made.commit(SUMS.message, SUMS.fix);
      const { candidates } = await prepareFixture(made, { commits: 1 });
      const { wavering = [], needNetwork = [], failToPass } = candidates[0]?.evidence ?? {};
      const isSeldom = ({ id }: { readonly id: string }): boolean => id.endsWith('test_seldom');
      const seldom = wavering.find(isSeldom);
      expect(seldom?.cause).toBe('chance');
      const figures = wavering
        .filter((each) => !isSeldom(each))
        .map(({ id, cause, failures, runs }) => [id.split('::').at(-1), cause, `${failures} of ${runs}`]);
      // Of the three other runs one is at another time, and all are in an order of their own.
      expect(figures).toEqual([
        ['test_drawn', 'order', '3 of 3'],
        ['test_second', 'order', '1 of 3'],
        ['test_this_year', 'clock', '1 of 3'],
      ]);
      expect(seldom?.failures).toBe(Math.floor((seldom?.runs ?? 0) / 20));
      expect(needNetwork).toEqual(['tests/test_wavering.py::test_online']);
      expect(failToPass).toEqual(['tests/test_sums.py::test_mean_of_none']);
      expect(candidates[0]).toMatchObject({ refusal: null, evidence: { soundness: { isSound: true } } });
    },
    PATIENCE_MS,
  );

  it(
    'a vendored copy of the fix, an empty message, and a commit with only tests are refused, each with its reason',
    async () => {
      await using made = await RepositoryFixture.make();
      const copy = SUMS.fix['sums.py'];
      await made.commit('Begin with sums', { ...SUMS.before, 'vendored/sums_copy.py': copy });
      await made.commit(SUMS.message, SUMS.fix);
      await made.commit('fix', { 'sums.py': `${copy}\n\ndef twice(a):\n    return 2 * a\n`, 'tests/test_twice.py': TWICE });
      await made.commit('Test more', { 'tests/test_more.py': 'def test_more():\n    pass\n' });
      const { candidates } = await prepareFixture(made, { commits: 3 });
      expect(candidates.map(({ refusal }) => refusal)).toEqual([
        { step: 'discover', reason: 'it changes tests only' },
        { step: 'scrub', reason: expect.stringContaining('says nothing that an agent could work by') },
        { step: 'scrub', reason: expect.stringContaining('/app/vendored/sums_copy.py') },
      ]);
    },
    PATIENCE_MS,
  );
});

/** What each repository is, and why no candidate of it becomes a task. */
const HOPELESS: readonly (readonly [string, FileContents, FileContents, { readonly step: string; readonly reason: unknown }])[] = [
  [
    'files of tests without a test',
    { ...SUMS.before, 'tests/test_sums.py': 'import sums\n' },
    { 'sums.py': SUMS.fix['sums.py'], 'tests/test_sums.py': 'import sums\n\nNUMBERS = [1, 2, 3]\n' },
    { step: 'test-command', reason: expect.stringContaining('no test was run') },
  ],
  [
    'tests that need a service',
    SUMS.before,
    {
      'sums.py': SUMS.fix['sums.py'],
      'tests/test_sums.py': 'import socket\n\n\ndef test_stored():\n    socket.create_connection(("127.0.0.1", 5432))\n',
    },
    { step: 'gold', reason: expect.stringContaining('they need a network or a service, which no later step has') },
  ],
  [
    'a build that fails',
    {
      'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.20)\nproject(sums C)\nenable_testing()\nno_such_command()\n',
      'sums.c': 'int one;\n',
      'tests/test_one.c': 'int a;\n',
    },
    { 'sums.c': 'int two;\n', 'tests/test_one.c': 'int b;\n' },
    { step: 'test-command', reason: expect.stringContaining('Unknown CMake command "no_such_command"') },
  ],
  [
    'a language that nothing names',
    { 'sums.go': 'package sums\n' },
    { 'sums.go': 'package sums\n\nvar One = 1\n', 'sums_test.go': 'package sums\n' },
    { step: 'language', reason: expect.stringContaining('no file names a test framework that is known') },
  ],
];

describe.runIf(isFullForm)('a repository', () => {
  for (const [what, before, fix, refusal] of HOPELESS)
    it(
      `with ${what} makes no task, and the report says why`,
      async () => {
        await using made = await RepositoryFixture.make();
        await made.commit('Begin with sums', before);
        await made.commit('Change the sums, and how they are tested', fix);
        const { candidates } = await prepareFixture(made, { commits: 1 });
        expect(candidates).toMatchObject([{ refusal, task: null }]);
      },
      PATIENCE_MS,
    );
});

const TWICE = 'import sums\n\n\ndef test_twice():\n    assert sums.twice(2) == 4\n';
