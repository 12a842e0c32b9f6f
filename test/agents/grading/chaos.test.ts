import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeVerdict } from '../../../src/agents/grading/stages/take-verdict.ts';
import { omitMeasurements } from '../../../src/agents/verification/verdict.ts';
import type { GradingSandboxes } from '../../../src/agents/grading/grading-sandboxes.ts';
import type { OpenTask } from '../../../src/app/grading/task-grader.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { extent } from '../../support/full-form.ts';
import { GradingFixture, SORT_TASK } from '../../support/grading-fixture.ts';
import { KilledSandboxes } from '../../support/killed-sandboxes.ts';

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const SUBMISSIONS = [
  { name: 'right', source: 'def sort_numbers(numbers):\n    return sorted(numbers)\n', reward: 1 },
  { name: 'wrong', source: 'def sort_numbers(numbers):\n    return numbers\n', reward: 0 },
  { name: 'broken', source: 'import nothing\n', reward: 0 },
] as const;
const SEEDS = extent({ short: 1, full: 10 });

async function graded(sandboxes: GradingSandboxes, { task, content }: OpenTask, source: string, seed: string): Promise<string> {
  const [step] = task.steps;
  const files = [{ path: '/app/sort.py', content: Buffer.from(source), executable: false }];
  const submission = { files, problem: undefined };
  const context = { sandboxes, clock: systemClock };
  const verdict = await takeVerdict({ task, step, content, submission, seed }, context, AbortSignal.timeout(120_000));
  return JSON.stringify(omitMeasurements(verdict));
}

describe('verdicts of many submissions', () => {
  it('are the same bytes, no matter which of their sandboxes are killed', { timeout: 3_600_000 }, async () => {
    const task = await fixture.task(SORT_TASK);
    const kinds = SUBMISSIONS.flatMap(({ source, reward }) =>
      Array.from({ length: SEEDS }, (_, at) => ({ source, reward, seed: `${at}` })),
    );
    const undisturbed: string[] = [];
    for (const { source, seed, reward } of kinds) {
      const verdict = await graded(fixture.grader.getSandboxes(task), task, source, seed);
      expect(JSON.parse(verdict)).toMatchObject({ reward, problem: null });
      undisturbed.push(verdict);
    }
    const killing = new KilledSandboxes(fixture.grader.getSandboxes(task), systemClock, extent({ short: 25, full: 1 }) / 100, 7);
    const queue = Array.from({ length: extent({ short: 6, full: 1000 }) }, (_, at) => at).values();
    const differing: number[] = [];
    const work = async (): Promise<void> => {
      for (const at of queue) {
        const kind = kinds[at % kinds.length];
        if (!kind) continue;
        if ((await graded(killing, task, kind.source, kind.seed)) !== undisturbed[at % kinds.length]) differing.push(at);
      }
    };
    await Promise.all([work(), work()]);
    expect(differing).toEqual([]);
    expect(killing.killed).toBeGreaterThan(0);
  });
});
