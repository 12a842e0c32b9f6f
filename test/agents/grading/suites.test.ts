import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../../../src/agents/verification/verdict.ts';
import { checkTask } from '../../../src/app/grading/task-check.ts';
import { openTask } from '../../../src/app/grading/task-grader.ts';
import { type FilesByPath, GradingFixture, TASK } from '../../support/grading-fixture.ts';
import { hasErrno } from '../../../src/kernel/errno.ts';
import { isFullForm, sampled } from '../../support/full-form.ts';
import { python, RUNNERS } from './suite-runners.ts';

const PROJECT = path.join(import.meta.dirname, '../../..');
const EXAMPLES = path.join(PROJECT, 'examples/code');
const RUST = isFullForm ? findRust() : undefined;
/** CONTRIBUTING.md says how it comes there. */
const JEST = path.join(PROJECT, '.tools/jest/node_modules');
const hasJest = existsSync(path.join(JEST, 'jest'));
/** What of the runners lies outside of /usr. */
const MOUNTS = [
  { source: path.join(PROJECT, 'node_modules'), target: '/node_modules' },
  ...(RUST === undefined ? [] : [{ source: RUST, target: '/opt/rust' }]),
  ...(isFullForm && hasJest ? [{ source: JEST, target: '/opt/jest/node_modules' }] : []),
];

/** Undefined where Rust is not installed. */
function findRust(): string | undefined {
  try {
    return execFileSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' }).trim();
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open({ MUSTER_TEMPLATES__LOCAL__MOUNTS: JSON.stringify(MOUNTS) });
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Toolchains compile their own libraries first. */
const PATIENCE_MS = 900_000;
const toolchain = 'memory_mb = 2048\nstorage_mb = 2048\n\n[environment.env]\nPATH = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"\n';
const SHORT = new Set(['pytest', 'unittest', 'junit']);

describe('a test suite that imports the candidate', () => {
  it.for(sampled(RUNNERS, ({ name }) => SHORT.has(name)))(
    'is judged by what $name reports of two runs in different orders',
    { timeout: PATIENCE_MS },
    async ({ name, muster, files, right, wrong }, { skip }) => {
      skip(name === 'cargo' && RUST === undefined, 'Rust is not installed: there is no rustc in PATH');
      skip(name === 'jest' && !hasJest, 'jest is not installed in .tools/jest: CONTRIBUTING.md says how');
      const toml = `[execute]\nkind = "suite"\nboundary = "shared"\nseconds = 280\n${muster}\n`;
      const task = await fixture.task({
        ...TASK,
        ...files,
        'task.toml': `${TASK['task.toml']?.replace('= 60', '= 600')}${toolchain}`,
        'muster.toml': toml,
      });
      const graded = async (submission: FilesByPath): Promise<Verdict> => {
        const taken = await fixture.grader.verify(task, await fixture.written(submission), {}, AbortSignal.timeout(PATIENCE_MS));
        return taken.verdict;
      };
      const verdict = await graded(right);
      expect(verdict).toMatchObject({ reward: 1, problem: null, evidence: [{}, { runs: [{ problem: null }, { problem: null }] }] });
      const failed = await graded(wrong);
      expect(failed).toMatchObject({ reward: 0, problem: null, stages: [{}, { stage: 'execute', outcome: 'failed' }] });
      expect(failed.stages[1]?.detail).toMatch(/failed; it has to pass|different from run to run/);
    },
  );

  it('blames the submission for a link in place of the report, and a file in place of a directory of the tests', async () => {
    const runner = RUNNERS[0];
    if (!runner) throw new Error('there is no runner');
    const toml = `[execute]\nkind = "suite"\nboundary = "shared"\n${runner.muster}\n`;
    const task = await fixture.task({ ...TASK, ...runner.files, 'muster.toml': toml });
    const linked =
      'import os, sys\nreport = [word for word in sys.argv if "junitxml" in word][0].split("=")[1]\nos.symlink("/tests/x", report)\nos._exit(0)\n';
    const first = (await fixture.verdict(task, { 'sums.py': linked })).verdict;
    expect([first.reward, first.stages[1]?.detail]).toEqual([0, expect.stringContaining('the file that {report} stands for is a link')]);
    const second = (await fixture.verdict(task, { ...runner.right, tests: 'no directory\n' })).verdict;
    expect([second.reward, second.problem]).toEqual([0, null]);
  });

  it('gives no reward where the runner is missing, rather than 0', async () => {
    const muster =
      '[execute]\nkind = "suite"\nrunner = "cargo"\nboundary = "shared"\ncommand = ["no-such-cargo", "{seed}"]\nfailToPass = ["a"]\n';
    const { verdict } = await fixture.verdict(await fixture.task({ ...TASK, 'muster.toml': muster, 'tests/a.txt': '' }), {});
    expect(verdict).toMatchObject({ reward: null, problem: { detail: expect.stringContaining('no-such-cargo') } });
  });
});

describe('a test suite that sees the candidate through a proxy', () => {
  it('runs under unittest as under pytest, and shows what the candidate printed', async () => {
    const muster =
      '[execute]\nkind = "suite"\nrunner = "unittest"\ncommand = ["python3", "-m", "unittest", "-v", "test_sums"]\nmodules = ["sums"]\nfailToPass = ["test_sums.Sums.test_add"]\npassToPass = ["test_sums.Sums.test_zero", "test_sums.Sums.test_more"]\n';
    const tests = RUNNERS[1]?.files['tests/test_sums.py']?.replace('5)', '4)') ?? '';
    const task = await fixture.task({ ...TASK, 'muster.toml': muster, 'tests/test_sums.py': tests });
    const right = (await fixture.verdict(task, { 'sums.py': `print("hello")\n${python('a + b')['sums.py']}` })).verdict;
    expect([right.reward, JSON.stringify(right.evidence)]).toEqual([1, expect.stringContaining('the candidate printed:\\nhello')]);
    const hostile =
      'import glob, os\nos.kill(os.getpid(), 0)\nassert glob.glob("/tests/*") == []\nclass Any:\n    def __eq__(self, other):\n        return True\ndef add(a, b):\n    return Any()\n';
    const lied = (await fixture.verdict(task, { 'sums.py': hostile })).verdict;
    expect([lied.reward, JSON.stringify(lied.evidence)]).toEqual([0, expect.stringContaining('gave a sums.Any, which is no plain data')]);
  });

  it('works as the examples show', async () => {
    for (const name of isFullForm ? ['roman-numerals', 'repository-issue'] : []) {
      const found = await checkTask(fixture.grader, await openTask(path.join(EXAMPLES, name)), { times: 1 }, AbortSignal.timeout(900_000));
      expect(found.trials.filter(({ finding }) => finding !== 'as-expected')).toEqual([]);
    }
    const roman = await openTask(path.join(EXAMPLES, 'roman-numerals'));
    for (const [submission, reward] of [
      ['solution', 1],
      ['cheats/rewrites-outcomes', 0],
    ] as const)
      expect((await fixture.verdict(roman, path.join(EXAMPLES, 'roman-numerals', submission))).verdict.reward).toBe(reward);
  }, 1_800_000);
});
