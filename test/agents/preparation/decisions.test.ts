import { describe, expect, it } from 'vitest';
import type { Candidate, FileChange } from '../../../src/agents/preparation/candidate.ts';
import { derivePinned, gatherOutcomes } from '../../../src/agents/preparation/derivation.ts';
import { describeFix } from '../../../src/agents/preparation/discovery.ts';
import { filterCandidate } from '../../../src/agents/preparation/filtering.ts';
import { writeInstruction } from '../../../src/agents/preparation/instruction.ts';
import { detectLanguage } from '../../../src/agents/preparation/languages/language-table.ts';
import { PYTHON } from '../../../src/agents/preparation/languages/python.ts';
import { findLicence } from '../../../src/agents/preparation/licence.ts';
import { findNetworkNeeds } from '../../../src/agents/preparation/network-needs.ts';
import { classifyPath } from '../../../src/agents/preparation/source/path-kinds.ts';
import { findSecret } from '../../../src/agents/preparation/secrets.ts';
import type { SourceFiles } from '../../../src/agents/preparation/source/source-files.ts';
import { splitChange } from '../../../src/agents/preparation/splitting.ts';
import { judgeSteadiness, type RepeatedRun } from '../../../src/agents/preparation/steadiness.ts';
import { leaveOutWaiting, limitSuite } from '../../../src/agents/preparation/time-scale.ts';
import { wireTests } from '../../../src/agents/preparation/wired-tests.ts';
import { filesOf } from '../../support/source-files.ts';

const COMMIT = { id: 'a'.repeat(40), parent: 'b'.repeat(40), committed: 1000, message: 'Mend the mean\n\nIt was wrong for no numbers.' };

function change(path: string, more: Partial<FileChange> = {}): FileChange {
  return { path, isBinary: false, added: 3, removed: 1, isSpecial: false, ...more };
}

describe('a commit is a candidate', () => {
  const found = (...changes: readonly FileChange[]): string => {
    try {
      return describeFix(COMMIT, changes).id;
    } catch (error) {
      return String(error);
    }
  };

  it('when it touches source code and tests, and otherwise says what is missing', () => {
    expect(found(change('sums.py'), change('tests/test_sums.py'))).toBe('aaaaaaaaaaaa');
    expect(found(change('tests/test_sums.py'))).toContain('it changes tests only');
    expect(found(change('sums.py'))).toContain('without tests');
    expect(found(change('README.md'), change('tests/test_sums.py'))).toContain('tests only');
    expect(found(change('README.md'))).toContain('no source code');
  });

  it('and paths say what a file is for', () => {
    const kinds = [
      'src/a.py',
      'src/a_test.go',
      'pkg/__tests__/a.js',
      'a.spec.ts',
      'conftest.py',
      'go.sum',
      'docs/a.py',
      'CHANGES.txt',
      'src/a.rs',
      'benches/a.rs',
      'fuzzing/a.c',
    ].map(classifyPath);
    expect(kinds).toEqual(['source', 'test', 'test', 'test', 'test', 'generated', 'other', 'other', 'source', 'other', 'other']);
  });
});

describe('a filter refuses', () => {
  const terms = { licence: 'MIT', allowed: ['MIT'], mostLines: 100, mostFiles: 2, since: 0 };
  const refusal = (changes: readonly FileChange[], added = '', more: Partial<typeof terms> = {}): string => {
    const candidate: Candidate = { kind: 'fix', id: 'a', commit: COMMIT, changes };
    try {
      filterCandidate(candidate, added, { ...terms, ...more });
      return 'none';
    } catch (error) {
      return String(error);
    }
  };

  it('a licence that is not allowed, what is too large or too old, binary and special files, each with its reason', () => {
    const fine = [change('a.py'), change('tests/test_a.py')];
    expect(refusal(fine)).toBe('none');
    expect(refusal(fine, '', { licence: 'GPL' })).toContain('its licence is GPL');
    expect(refusal(fine, '', { since: 2000 })).toContain('older');
    expect(refusal([change('a.py', { added: 200 }), ...fine])).toContain('lines of source code');
    expect(refusal([change('b.py'), change('c.py'), ...fine])).toContain('3 source files');
    expect(refusal([change('tests/a.bin', { isBinary: true }), ...fine])).toContain('binary file tests/a.bin');
    expect(refusal([change('lib', { isSpecial: true }), ...fine])).toContain('a link or a submodule');
    expect(refusal([change('go.sum'), change('tests/test_a.py')])).toContain('generated files only');
  });

  it('a secret in what is added, and no ordinary text', () => {
    expect(findSecret(['key = "', 'AKIA', 'ABCDEFGHIJKLMNOP"'].join(''))).toBe('a key of AWS');
    expect(findSecret(['-----BEGIN', 'RSA PRIVATE', 'KEY-----'].join(' '))).toBe('a private key');
    expect(findSecret('api_key = "q9Zr3TxB7vLmK2pWd8YcN5hJ"')).toContain('a random text');
    expect(findSecret('password = "correct horse battery staple and more"')).toBeUndefined();
    expect(findSecret('token_name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaa"')).toBeUndefined();
  });

  it('licences are recognised by their texts, or by what the package declares', () => {
    expect(findLicence(filesOf({ LICENSE: 'Permission is hereby granted, free of\ncharge, to any person obtaining a copy' }))).toBe('MIT');
    expect(findLicence(filesOf({ COPYING: 'GNU GENERAL PUBLIC LICENSE\nVersion 3' }))).toBe('GPL');
    expect(findLicence(filesOf({ 'pyproject.toml': 'license = "Apache-2.0"\n' }))).toBe('Apache-2.0');
    expect(findLicence(filesOf({ 'a.py': '' }))).toBeUndefined();
  });
});

describe('a change is split', () => {
  const parent = filesOf({
    'a.py': 'old\n',
    'tests/test_a.py': 'old\n',
    'README.md': 'old\n',
    'lib.rs': 'fn a() {}\n#[cfg(test)]\nmod tests { one }\n',
  });

  it('into tests and source; what is neither is part of neither', () => {
    const after = filesOf({
      'a.py': 'new\n',
      'tests/test_a.py': 'new\n',
      'README.md': 'new\n',
      'lib.rs': 'fn a() {}\n#[cfg(test)]\nmod tests { one }\n',
    });
    const { before, tested, solved } = splitChange(parent, after);
    const text = (files: SourceFiles, path: string): string => files.get(path)?.content.toString() ?? '';
    expect(
      [before, tested, solved].map((files) => [text(files, 'a.py'), text(files, 'tests/test_a.py'), text(files, 'README.md')]),
    ).toEqual([
      ['old\n', 'old\n', 'old\n'],
      ['old\n', 'new\n', 'old\n'],
      ['new\n', 'new\n', 'old\n'],
    ]);
  });

  it('unless a file holds both', () => {
    const after = filesOf({ 'a.py': 'new\n', 'tests/test_a.py': 'new\n', 'lib.rs': 'fn b() {}\n#[cfg(test)]\nmod tests { two }\n' });
    expect(() => splitChange(parent, after)).toThrow('lib.rs holds source code and the tests that change with it');
  });
});

describe('tests are pinned', () => {
  const run = (outcomes: Readonly<Record<string, 'passed' | 'failed' | 'skipped'>>): ReturnType<typeof gatherOutcomes> =>
    gatherOutcomes(Object.entries(outcomes).map(([id, status]) => ({ id, status })));

  it('by what they do without and with the fix', () => {
    const pinned = derivePinned(
      run({ a: 'failed', b: 'passed', d: 'skipped' }),
      run({ a: 'passed', b: 'passed', c: 'passed', d: 'passed', e: 'failed' }),
    );
    expect(pinned).toEqual({ failToPass: ['a', 'c'], passToPass: ['b'] });
    const ended = derivePinned(run({ a: 'failed' }), run({ a: 'passed', b: 'passed' }), true);
    expect(ended).toEqual({ failToPass: ['a', 'b'], passToPass: [] });
    expect(() => derivePinned(run({}), run({ a: 'passed' }), true)).toThrow('cannot be built or begun');
    expect(() => derivePinned(run({ a: 'passed' }), run({ a: 'passed' }))).toThrow('every test that passes with the fix passes without it');
    expect(() => derivePinned(run({ a: 'failed' }), run({ a: 'failed' }))).toThrow('no test passes with the fix');
  });

  const steady = { without: run({ f: 'failed', p: 'passed' }), withFix: run({ f: 'passed', p: 'passed' }) };
  const pinned = { failToPass: ['f'], passToPass: ['p'] };
  const runs: readonly RepeatedRun[] = [
    { twist: 'order', ...steady },
    { twist: 'clock', ...steady },
    { twist: 'order', ...steady },
  ];

  it('when they came out the same each time', () => {
    expect(judgeSteadiness(pinned, runs, new Map())).toMatchObject({ pinned, dropped: [], refusal: null });
  });

  it('a test that did not run without the fix, because another one ended the process, must continue to pass where it ran and passed', () => {
    const crashed = { without: run({ f: 'failed' }), withFix: run({ f: 'passed', p: 'passed' }) };
    const all = { failToPass: ['f', 'p'], passToPass: [] };
    const ran: readonly RepeatedRun[] = [{ twist: 'order', ...crashed }, ...runs.slice(1)];
    expect(judgeSteadiness(all, ran, new Map(), run({ f: 'failed' }))).toMatchObject({ pinned, refusal: null });
    const lucky = judgeSteadiness({ failToPass: ['p'], passToPass: [] }, ran, new Map());
    expect(lucky.refusal).toContain('passes without it in another order');
  });

  it('and a P2P test is dropped when it wavers, with cause and figure', () => {
    const shuffled = runs.map((each, at) => (at === 2 ? { ...each, withFix: run({ f: 'passed', p: 'failed' }) } : each));
    expect(judgeSteadiness(pinned, shuffled, new Map())).toMatchObject({
      pinned: { passToPass: [] },
      dropped: [{ cause: 'order', failures: 1, runs: 3 }],
    });
    const later = runs.map((each) => (each.twist === 'clock' ? { ...each, withFix: run({ f: 'passed', p: 'failed' }) } : each));
    expect(judgeSteadiness(pinned, later, new Map()).dropped).toMatchObject([{ id: 'p', cause: 'clock' }]);
    const seldom = judgeSteadiness(pinned, runs, new Map([['p', { runs: 200, failures: 9 }]]));
    expect(seldom.dropped).toMatchObject([{ id: 'p', cause: 'chance', figure: 'it failed in 9 of 200 runs (4.5 %)' }]);
  });

  it('and an F2P test refuses the task when it wavers', () => {
    const found = judgeSteadiness(pinned, runs, new Map([['f', { runs: 100, failures: 5 }]]));
    expect(found.refusal).toBe('f does not come out the same each time (chance): it failed in 5 of 100 runs (5.0 %)');
  });

  it('unless its name differs in each run, such as a name with a time', () => {
    const dated = runs.map(({ twist, without, withFix }, at) => ({
      twist,
      without,
      withFix: new Map([...withFix, [`at ${at}`, 'passed'] as const]),
    }));
    const all = { failToPass: ['at 9', 'f'], passToPass: ['p'] };
    expect(judgeSteadiness(all, dated, new Map())).toMatchObject({ pinned, dropped: [{ id: 'at 9', cause: 'name' }], refusal: null });
    const alone = judgeSteadiness({ failToPass: ['at 9'], passToPass: ['p'] }, dated, new Map());
    expect(alone.refusal).toBe('at 9 does not come out the same each time (name): its name is another one in each run');
    // Where no other test came instead, it did not run.
    expect(judgeSteadiness(all, runs, new Map()).refusal).toContain('at 9 does not come out the same each time (order)');
  });

  it('unless it passed before the change, and fails only because the new tests cannot be built', () => {
    const unbuilt = runs.map(({ twist, withFix }) => ({ twist, withFix, without: run({}) }));
    const seldom = new Map([['p', { runs: 100, failures: 5 }]]);
    const both = { failToPass: ['f', 'p'], passToPass: [] };
    const before = run({ p: 'passed' });
    expect(judgeSteadiness(both, unbuilt, seldom, run({}), before)).toMatchObject({
      pinned: { failToPass: ['f'], passToPass: [] },
      refusal: null,
    });
    const alone = judgeSteadiness({ failToPass: ['p'], passToPass: [] }, unbuilt, seldom, run({}), before);
    expect(alone.refusal).toContain('p does not come out the same each time');
  });

  it('and a test that did not run because another test ended the process does not waver', () => {
    const cut = run({ f: 'passed', x: 'failed' });
    const ended = runs.map(({ twist, without, withFix }, at) => ({ twist, without, withFix: at === 1 ? withFix : cut }));
    expect(judgeSteadiness({ ...pinned, passToPass: ['p', 'x'] }, ended, new Map())).toMatchObject({
      pinned,
      dropped: [{ id: 'x' }],
      refusal: null,
    });
  });
});

describe('an instruction', () => {
  const candidate = (message: string): Extract<Candidate, { kind: 'fix' }> => ({
    kind: 'fix',
    id: 'a',
    commit: { ...COMMIT, message },
    changes: [],
  });

  it('is the message of the commit, without lines that name a test or hold the fix', () => {
    const message = 'Give a mean of no numbers\n\nSee test_mean_of_none.\nif not numbers: return 0.0\nSigned-off-by: a <a@b>';
    const found = writeInstruction(candidate(message), ['test_mean_of_none'], ['if not numbers: return 0.0']);
    expect(found.text).toBe('Give a mean of no numbers\n\nHidden tests judge the change.\n');
    expect(found.leftOut).toHaveLength(2);
  });

  it('of a merged change is the text below the name of the merge', () => {
    const found = writeInstruction(candidate('Merge pull request #487 from a/b\n\nfix: keep a flag that has no value'), [], []);
    expect(found.text).toMatch(/^fix: keep a flag that has no value\n/);
  });

  it('has the issues that the message names, whatever the message says, without the same lines', () => {
    const told = { number: 44, text: 'The mean of nothing is an error\n\nSee test_mean_of_none.\nIt has to be 0.', isMergeRequest: false };
    const write = (message: string, text = told.text): ReturnType<typeof writeInstruction> =>
      writeInstruction({ ...candidate(message), issues: [{ ...told, text }] }, ['test_mean_of_none'], []);
    const issue = 'The mean of nothing is an error\n\nIt has to be 0.\n\nHidden tests judge the change.\n';
    expect(write('Fixes #44')).toEqual({ text: issue, source: 'issue', leftOut: ['See test_mean_of_none.'] });
    expect(write('Give a mean of no numbers')).toMatchObject({ text: `Give a mean of no numbers\n\n${issue}`, source: 'issue' });
    expect(write('Give a mean of no numbers', 'Bug')).toMatchObject({ source: 'commit' });
    expect(() => write('Fixes #44', 'Bug')).toThrow('the commit message says nothing');
  });

  it('is refused when it has no content', () => {
    expect(() => writeInstruction(candidate('Merge pull request #487 from a/b'), [], [])).toThrow('says nothing');
    expect(() => writeInstruction(candidate('fix'), [], [])).toThrow('says nothing that an agent could work by');
    expect(() => writeInstruction(candidate('test_mean fails'), ['test_mean'], [])).toThrow('without the lines that name tests');
  });
});

describe('of Python', () => {
  const text =
    'import a\n\n\nclass TestMean:\n    def test_one(self):\n        assert a.mean([1]) == 1\n\n\ndef test_add(tmp_path):\n    value = a.add(1, 2)\n    assert value == 3\n';
  const ids = ['test_a.py::TestMean::test_one', 'test_a.py::test_add'];

  it('files name the framework, and a repository without any is refused', () => {
    expect(detectLanguage(filesOf({ 'setup.cfg': '[tool:pytest]\n', 'test_a.py': text })).framework).toMatchObject({
      name: 'pytest',
      evidence: 'setup.cfg',
    });
    expect(detectLanguage(filesOf({ 'test_a.py': 'import unittest\n' })).framework.name).toBe('unittest');
    expect(() => detectLanguage(filesOf({ 'setup.py': '', 'pyproject.toml': 'pytest' }))).toThrow('has no tests');
    expect(() => detectLanguage(filesOf({ README: '' }))).toThrow('no file names a test framework');
  });

  it('tripwires are tests with a literal changed, among the others', () => {
    const drafts = PYTHON.tripwires('test_a.py', text, ids, { name: 'pytest', evidence: '', testFiles: [], places: new Map() });
    expect(drafts.map(({ of }) => of)).toEqual(ids);
    expect(drafts[1]).toMatchObject({ tripwire: { changed: 'assert value == 4', literal: 'assert value == 3' } });
    const wired =
      wireTests(filesOf({ 'test_a.py': text }), drafts, false)
        .get('test_a.py')
        ?.content.toString() ?? '';
    expect(wired.match(/def test_one_?\w*\(self\)/g)).toHaveLength(2);
    expect(wired).toMatch(/\n {8}assert a.mean\(\[1\]\) == 2\n/);
    expect(wired).toMatch(/\n\n\ndef test_add_\w+\(tmp_path\):\n {4}value = a.add\(1, 2\)\n {4}assert value == 4\n/);
  });

  it('tests that need a network are named', () => {
    const printed =
      'FAILED test_a.py::test_get - socket.gaierror: [Errno -3] Temporary failure in name resolution\nFAILED test_a.py::test_x - assert 1 == 2\n';
    expect(findNetworkNeeds(printed)).toEqual(['test_a.py::test_get']);
  });
});

it('a time limit is one of a few values, so that a measurement does not decide a digest', () => {
  expect([0.1, 2.9, 3.1, 14, 500].map(limitSuite)).toEqual([60, 60, 300, 300, 7200]);
});

it('the time of tests leaves out waits for a busy machine, and is no less than their processor time', () => {
  expect(leaveOutWaiting({ seconds: 102, cpuSeconds: 5 }, 96)).toBe(6);
  expect(leaveOutWaiting({ seconds: 10, cpuSeconds: 3 }, 25)).toBe(3);
  expect(leaveOutWaiting({ seconds: 10, cpuSeconds: 18 }, 1)).toBe(10);
});
