import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTask } from '../../../src/app/grading/task-check.ts';
import { GradingFixture, SORT_TASK, TASK } from '../../support/grading-fixture.ts';

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const KNOWN = {
  ...SORT_TASK,
  'cheats/by-heart/sort.py': 'def sort_numbers(numbers):\n    return [1, 2, 3]\n',
  'twins/script/solve.sh': '#!/bin/bash\ncp /solution/right.py sort.py\n',
  'twins/script/right.py': 'def sort_numbers(numbers):\n    return sorted(numbers)\n',
};

describe('the check of a task', () => {
  it('finds a task sound if solution and twins score 1, and nop and cheats 0; equal submissions share a verdict', async () => {
    const verdicts: string[] = [];
    const seeds: Record<string, string[]> = {};
    const onVerdict = (trial: string, { seed }: { readonly seed: string }): void => {
      verdicts.push(seed);
      (seeds[trial] ??= []).push(seed);
    };
    const task = await fixture.task({ ...KNOWN, 'cheats/idle/solve.sh': '#!/bin/bash\nexit 0\n' });
    const found = await checkTask(fixture.grader, task, { times: 2, onVerdict }, AbortSignal.timeout(120_000));
    expect(found).toMatchObject({ task: 'test/task', isSound: true });
    expect(found.trials.map(({ role, name, rewards, finding }) => [role, name, rewards, finding])).toEqual([
      ['oracle', 'oracle', [1, 1], 'as-expected'],
      ['nop', 'nop', [0, 0], 'as-expected'],
      ['cheat', 'by-heart', [0, 0], 'as-expected'],
      ['cheat', 'idle', [0, 0], 'as-expected'],
      ['twin', 'script', [1, 1], 'as-expected'],
    ]);
    expect(verdicts).toHaveLength(10);
    expect(seeds['cheat idle']).toEqual(seeds['nop nop']);
    expect(seeds['twin script']).toEqual(seeds['oracle oracle']);
    expect(new Set(verdicts).size).toBe(6);
  });

  it('sees files that the solution has removed as gone, however the task is judged, except files outside of the submission', async () => {
    const removing = {
      ...TASK,
      'task.toml': `artifacts = [{ source = "/app", exclude = ["apart/**"] }]\n${TASK['task.toml']}`,
      'environment/old/left.txt': 'old',
      'environment/apart/kept.txt': 'kept',
      'environment/stays.txt': 'stays',
      'solution/solve.sh': '#!/bin/bash\nrm -r old apart\n',
    };
    const right = 'apart,stays.txt';
    const byScript = {
      'tests/test.sh': `#!/bin/bash\n[ "$(ls /app | paste -sd,)" = ${right} ] && r=1 || r=0\necho $r >/logs/verifier/reward.txt\n`,
    };
    const cases = (compile: string): string =>
      `${compile}[execute]\nkind = "cases"\ncommand = ["/bin/ls", "-m", "/app"]\nstored = "cases.jsonl"\n`;
    const stored = { 'tests/cases.jsonl': `${JSON.stringify({ expected: `${right.replace(',', ', ')}\n` })}\n` };
    const compile = '[compile]\ncommand = ["/bin/true"]\n';
    for (const judged of [byScript, { ...stored, 'muster.toml': cases('') }, { ...stored, 'muster.toml': cases(compile) }]) {
      const open = await fixture.task({ ...removing, ...judged });
      expect(await checkTask(fixture.grader, open, { times: 1 }, AbortSignal.timeout(120_000))).toMatchObject({ isSound: true });
    }
  });

  it('names the problems of an unsound task', async () => {
    const weak = 'import json, os\nprint(json.dumps({"stdin": "[1, 2, 3]"}))\n';
    const muster = SORT_TASK['muster.toml']?.replace('cases = 4', 'cases = 1') ?? '';
    const task = await fixture.task({ ...KNOWN, 'tests/draw.py': weak, 'muster.toml': muster, 'solution/sort.py': 'import nothing\n' });
    const found = await checkTask(fixture.grader, task, { times: 1 }, AbortSignal.timeout(120_000));
    expect(found.isSound).toBe(false);
    expect(found.trials.filter(({ finding }) => finding === 'wrong').map(({ role, rewards }) => [role, rewards])).toEqual([
      ['oracle', [0]],
      ['nop', [1]],
      ['cheat', [1]],
    ]);
    expect(found.trials[0]?.detail).toBe(
      `execute: case drawn-1: ended with status 1; case drawn-1: ended with status 1; it printed last: File "/driver/main.py", line 4, in <module> from sort import sort_numbers File "/app/sort.py", line 1, in <module> import nothing ModuleNotFoundError: No module named 'nothing'`,
    );
    // What passes before anything is done.
    const suite = await fixture.task({
      ...TASK,
      'environment/sums.py': 'def add(a, b):\n    return a\n',
      'solution/sums.py': 'def add(a, b):\n    return a + b\n',
      'muster.toml':
        '[execute]\nkind = "suite"\nrunner = "unittest"\ncommand = ["python3", "-m", "unittest", "-v", "test_sums"]\nmodules = ["sums"]\nfailToPass = ["test_sums.Sums.test_add", "test_sums.Sums.test_zero"]\n',
      'tests/test_sums.py':
        'import unittest\nfrom sums import add\nclass Sums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n',
    });
    const early = await checkTask(fixture.grader, suite, { times: 1 }, AbortSignal.timeout(120_000));
    expect(early.isSound).toBe(false);
    expect(early.trials.map(({ rewards, finding, detail }) => [rewards, finding, detail])).toEqual([
      [[1], 'as-expected', ''],
      [[0], 'wrong', 'execute: test_sums.Sums.test_zero of failToPass: passes before anything is done; put it into passToPass'],
    ]);
    expect(found.trials[1]?.detail).toBe('compare let it through: 2 of 2 outputs are what the golden model wrote');
  });
});
