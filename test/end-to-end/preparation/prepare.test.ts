import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFullForm } from '../../support/full-form.ts';
import { prepareFixture } from '../../support/prepared-repository.ts';
import { RepositoryFixture, SUMS } from '../../support/repository-fixture.ts';

const PATIENCE_MS = 900_000;
let fixture: RepositoryFixture;

beforeAll(async () => {
  fixture = await RepositoryFixture.make();
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

it(
  'a fix with its tests becomes a task whose soundness has been shown; tags and reflog that lead to it are reported',
  async () => {
    await fixture.commit('Begin with sums', SUMS.before);
    await fixture.commit(SUMS.message, SUMS.fix);
    await fixture.git('tag', 'v1');
    await fixture.commit('Test more', { 'tests/test_more.py': 'def test_more():\n    assert 1 + 1 == 2\n' });
    const { candidates, refusedBy } = await prepareFixture(fixture);
    expect(refusedBy).toEqual({ discover: 2 });
    const [, fix] = candidates;
    expect(fix).toMatchObject({
      title: 'Give a mean of no numbers',
      refusal: null,
      evidence: {
        failToPass: ['tests/test_sums.py::test_mean_of_none'],
        passToPass: 2,
        tripwires: 3,
        leaks: expect.arrayContaining([expect.stringContaining('tag refs/tags/v1'), expect.stringContaining('reflog')]),
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
    expect(await readFile(path.join(task, 'instruction.md'), 'utf8')).not.toContain('test_');
    expect(await readFile(path.join(task, 'environment/tests/test_sums.py'), 'utf8')).toBe(SUMS.before['tests/test_sums.py']);
    expect(await readdir(path.join(task, 'environment'))).not.toContain('.git');
  },
  PATIENCE_MS,
);

/** Each wavers in its own way; the fix comes with one that is steady. */
const WAVERING = `import random
import time

import sums

SEEN = []


def test_seldom():
    assert random.random() >= 0.05


def test_this_year():
    assert time.time() < ${Math.floor(Date.now() / 1000) + 30 * 86_400}


def test_first():
    SEEN.append(1)
    assert sums.add(1, 1) == 2


def test_second():
    assert SEEN
`;

describe.runIf(isFullForm)('what is wrong with a repository', () => {
  it(
    'tests that waver by chance and by the time are found, with how often',
    async () => {
      await using made = await RepositoryFixture.make();
      await made.commit('Begin with sums', { ...SUMS.before, 'tests/test_wavering.py': WAVERING });
      await made.commit(SUMS.message, SUMS.fix);
      const { candidates } = await prepareFixture(made, { commits: 1 });
      const wavering = candidates[0]?.evidence.wavering ?? [];
      const causes = Object.fromEntries(wavering.map(({ id, cause }) => [id.split('::').at(-1), cause]));
      expect(causes).toMatchObject({ test_seldom: 'chance', test_this_year: 'clock' });
      expect(wavering.find(({ id }) => id.endsWith('test_seldom'))?.figure).toMatch(/it failed in \d+ of \d+ runs/);
      expect(candidates[0]).toMatchObject({ refusal: null, evidence: { soundness: { isSound: true } } });
    },
    PATIENCE_MS,
  );

  it(
    'a vendored copy of the fix, a message that says nothing, and tests only are refused, each with its reason',
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

const TWICE = 'import sums\n\n\ndef test_twice():\n    assert sums.twice(2) == 4\n';
