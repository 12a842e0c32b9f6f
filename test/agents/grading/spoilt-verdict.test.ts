import { expect, it } from 'vitest';
import type { GradingSandboxes } from '../../../src/agents/grading/grading-sandboxes.ts';
import { takeVerdict } from '../../../src/agents/grading/stages/take-verdict.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { caseTask } from '../../support/task-fixture.ts';

it('repeats a verdict that the infrastructure has spoilt after one second, then after four', async () => {
  const clock = new ManualClock();
  const begun: number[] = [];
  const lose = async (): Promise<never> => {
    begun.push(clock.now());
    throw new InfrastructureError('sandbox.lost', 'the machine is going down');
  };
  const sandboxes: GradingSandboxes = { open: lose, openBoth: lose, openTrusted: lose, rootFiles: lose };
  const task = caseTask({});
  const content = { read: async () => Buffer.alloc(0) };
  const grading = { task, step: task.steps[0], content, submission: { files: [], problem: undefined }, seed: '1' };
  const taking = takeVerdict(grading, { sandboxes, clock }, new AbortController().signal);
  const { reward, problem } = await clock.advanceFor(taking, 60_000, 500);
  expect([reward, problem?.kind, problem?.detail]).toEqual([null, 'infrastructure', expect.stringContaining('the machine is going down')]);
  expect([...new Set(begun)]).toEqual([0, 1000, 5000]);
  expect(clock.pending).toBe(0);
});
