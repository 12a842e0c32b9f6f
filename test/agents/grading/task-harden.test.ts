import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hardenTask, type Hardening, type HardenTerms } from '../../../src/app/grading/task-hardening.ts';
import { openTask } from '../../../src/app/grading/task-grader.ts';
import { formatHardening } from '../../../src/cli/lines/soundness-lines.ts';
import { GradingFixture, SORT_TASK } from '../../support/grading-fixture.ts';

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const BY_HEART = { 'sort.py': 'def sort_numbers(numbers):\n    return [1, 2, 3]\n' };
const STRONG = SORT_TASK['tests/draw.py'] ?? '';
/** Asks the same in every case. */
const WEAK = 'import json, os\nfor _ in range(int(os.environ["MUSTER_CASES"])):\n    print(json.dumps({"stdin": "[3, 1, 2]"}))\n';

const harden = (terms: Pick<HardenTerms, 'task' | 'submission' | 'role' | 'name'>): Promise<Hardening> =>
  hardenTask(fixture.grader, { times: 1, ...terms }, AbortSignal.timeout(120_000));

describe('a submission that becomes a case of its task', () => {
  it('stays after a cheat that passes, which is reported until the verifier is corrected', async () => {
    const task = await fixture.written({ ...SORT_TASK, 'tests/draw.py': WEAK });
    const submission = await fixture.written(BY_HEART);
    const terms = { task, submission, role: 'cheat', name: 'by-heart' } as const;
    const found = await harden(terms);
    expect(found).toMatchObject({
      isKnown: false,
      trial: { rewards: [1], finding: 'wrong' },
      directory: path.join(task, 'cheats/by-heart'),
    });
    expect(formatHardening(found)).toContain('  compare let it through: 5 of 5 outputs are what the golden model wrote');
    expect(await readFile(path.join(task, 'cheats/by-heart/sort.py'), 'utf8')).toBe(BY_HEART['sort.py']);
    expect((await openTask(task)).task.cheats.map(({ name }) => name)).toEqual(['by-heart']);
    await writeFile(path.join(task, 'tests/draw.py'), STRONG);
    expect(await harden(terms)).toMatchObject({ isKnown: true, trial: { rewards: [0], finding: 'as-expected', detail: '' } });
    const other = await fixture.written({ 'sort.py': 'raise SystemExit\n' });
    await expect(harden({ ...terms, submission: other })).rejects.toThrow(
      /cheats\/by-heart: is a different submission from .* with --name/,
    );
  });

  it('is kept as a twin with the reason for its failure, and is refused when it cannot be kept', async () => {
    const task = await fixture.written(SORT_TASK);
    const submission = await fixture.written({ 'sort.py': 'from sys import sort_numbers\n' });
    const twin = await harden({ task, submission, role: 'twin', name: 'own-module' });
    expect(twin).toMatchObject({ directory: path.join(task, 'twins/own-module'), trial: { rewards: [0], finding: 'wrong' } });
    expect(formatHardening(twin).join('\n')).toMatch(/execute: case drawn-\d: ended with status 1[^]*then: muster task check /);
    const empty = await fixture.written({});
    await expect(harden({ task, submission: empty, role: 'twin', name: 'x' })).rejects.toThrow(
      /is empty; expected the files that an agent/,
    );
    await expect(harden({ task, submission, role: 'twin', name: '../x' })).rejects.toThrow(/"\.\.\/x": expected a name of 1 to 64 letters/);
  });
});
