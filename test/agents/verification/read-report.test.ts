import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RUNNER_KINDS, type RunnerKind } from '../../../src/agents/tasks/muster-schema.ts';
import { readReport } from '../../../src/agents/verification/reports/read-report.ts';

/** As the runners wrote them: pytest 8, Python 3.11, Go 1.26, cargo 1.95, vitest 5, CTest 3.25. */
const recorded = (name: string): Buffer => readFileSync(join(import.meta.dirname, 'reports', name));
const read = (runner: RunnerKind, text: string): ReturnType<typeof readReport> => readReport(runner, Buffer.from(text), '/app');

describe("a runner's report", () => {
  it.each<readonly [RunnerKind, string, readonly (readonly [string, string])[]]>([
    [
      'pytest',
      'pytest-xunit1.xml',
      [
        ['test_a.py::TestB::test_bad', 'failed'],
        ['test_a.py::TestB::test_doc', 'passed'],
        ['test_a.py::TestB::test_ok', 'passed'],
        ['test_a.py::TestB::test_skip', 'skipped'],
        ['test_a.py::TestB::test_xf', 'xfailed'],
        ['test_a.py::test_p[a<b]', 'passed'],
        ['test_a.py::test_p[q"]', 'passed'],
        ['test_a.py::test_x', 'xfailed'],
      ],
    ],
    [
      'unittest',
      'unittest.txt',
      [
        ['test_a.TestB.test_bad', 'failed'],
        ['test_a.TestB.test_doc', 'passed'],
        ['test_a.TestB.test_ok', 'passed'],
        ['test_a.TestB.test_skip', 'skipped'],
        ['test_a.TestB.test_xf', 'xfailed'],
      ],
    ],
    [
      'go',
      'go.jsonl',
      [
        ['example.com/pkg::TestA/sub', 'passed'],
        ['example.com/pkg::TestA', 'passed'],
        ['example.com/pkg::TestBad', 'failed'],
        ['example.com/pkg::TestSkip', 'skipped'],
      ],
    ],
    ['cargo', 'cargo.txt', [['tests::it_works', 'passed']]],
    [
      'vitest',
      'vitest.json',
      [
        ['a.test.ts > outer > works', 'passed'],
        ['a.test.ts > outer > later', 'skipped'],
        ['a.test.ts > outer > breaks', 'failed'],
      ],
    ],
    [
      'ctest',
      'ctest.xml',
      [
        ['good', 'passed'],
        ['bad', 'failed'],
      ],
    ],
  ])('of %s gives each test once, and cut off at any place it never gives a test another outcome', (runner, file, expected) => {
    const whole = recorded(file);
    const { results, problem } = readReport(runner, whole, '/app');
    expect([results.map(({ id, status }) => [id, status]), problem]).toEqual([expected, null]);
    const outcomes = new Set(expected.map((one) => one.join(' ')));
    for (let end = 0; end < whole.length; end += 37) {
      const cut = readReport(runner, whole.subarray(0, end), '/app');
      expect(cut.results.every(({ id, status }) => outcomes.has(`${id} ${status}`))).toBe(true);
    }
  });

  it('of cargo that names its order of tests is read', () => {
    const text =
      'running 2 tests (shuffle seed: 1571115006)\ntest a ... ok\ntest b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed\n';
    expect(read('cargo', text)).toEqual({
      results: [
        { id: 'a', status: 'passed' },
        { id: 'b', status: 'failed' },
      ],
      problem: null,
    });
  });

  it('of a package or a file that fails as a whole has a result that no task pins', () => {
    const events = ['start', 'fail'].map((Action) => JSON.stringify({ Action, Package: 'p' })).join('\n');
    expect(read('go', events).results).toEqual([{ id: 'p', status: 'failed' }]);
    const file = { name: '/app/a.js', status: 'failed', assertionResults: [] };
    expect(read('jest', JSON.stringify({ testResults: [file] })).results).toEqual([{ id: 'a.js', status: 'error' }]);
  });

  it.each<readonly [string, RunnerKind, string, RegExp]>([
    ['entities', 'junit', '<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', /not well-formed XML at character 1/],
    ['no suite', 'junit', '<html/>', /no <testsuite>/],
    ['an attribute twice', 'junit', '<testsuite><testcase name="a" name="b"/></testsuite>', /"name" occurs twice/],
    ['deep nesting', 'junit', '<a>'.repeat(100), /more than 64 nested elements/],
    ['nothing', 'junit', '', /is empty/],
    ['no end', 'unittest', 'test_a (m.C.test_a) ... ok\n', /does not say "Ran/],
    ['a process that ended early', 'cargo', 'running 2 tests\ntest a ... ok\n', /1 binaries began their tests and 0 ended/],
    ['a package that did not end', 'go', '{"Action":"start","Package":"p"}', /the package p did not come to its end/],
    ['lines that are no events', 'go', 'PASS', /no event of go test -json/],
    ['another JSON', 'jest', '{}', /no testResults/],
    ['a long id', 'junit', `<testsuite><testcase name="${'a'.repeat(3000)}"/></testsuite>`, /3000 characters; expected 1 to 2048/],
  ])('with %s is a problem and no shorter list', (_name, runner, text, problem) => {
    expect(read(runner, text)).toEqual({ results: [], problem: expect.stringMatching(problem) });
  });

  it('of any bytes is read or refused, in a time that grows with its length only', () => {
    const pieces = fc.constantFrom(
      '<',
      '>',
      '/',
      '"',
      ' ',
      '\n',
      'testcase',
      'name="a"',
      '<!--',
      ']]>',
      'test a ... ',
      'ok',
      '{"Action":',
      '&#1;',
      'x (m) ',
    );
    fc.assert(
      fc.property(fc.constantFrom(...RUNNER_KINDS), fc.array(pieces, { maxLength: 60 }), (runner, parts) => {
        const { results, problem } = read(runner, parts.join(''));
        return problem === null || results.length === 0;
      }),
    );
    const hostile = [
      '<a '.repeat(300_000),
      `<a${' a="b"'.repeat(200_000)}`,
      `test ${'... '.repeat(300_000)}`,
      `x (${'a'.repeat(1_000_000)}`,
      ' '.repeat(2_000_000),
    ];
    const answers = hostile.flatMap((text) => RUNNER_KINDS.map((runner) => read(runner, text).results.length));
    expect(new Set(answers)).toEqual(new Set([0]));
  }, 20_000);
});
