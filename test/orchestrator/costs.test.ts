import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { evaluate } from '../../src/orchestrator/evaluate.ts';
import { SandboxTime } from '../../src/orchestrator/run/sandbox-time.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { EvaluationFixture, PAPER_CHECKPOINT, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner } from '../support/in-memory-runner.ts';
import { ManualClock } from '../support/manual-clock.ts';

async function evaluated(fixture: EvaluationFixture, suite: SuiteDefinition, costPerSandboxHour: number | undefined): Promise<Summary> {
  const request = { suite, suiteFiles: undefined, checkpoint: PAPER_CHECKPOINT, checkpointUri: 'paper' };
  return evaluate({ ...fixture.context, costPerSandboxHour }, request);
}

describe('the time of leased sandboxes', () => {
  it('adds up over ended and running leases', () => {
    const time = new SandboxTime();
    time.start(1000);
    time.start(2000);
    expect(time.sumSeconds(4000)).toBe(5);
    time.end(1000, 5000);
    expect(time.sumSeconds(6000)).toBe(8);
  });
});

describe('an evaluation', () => {
  it('costs the time of its sandboxes at the price of their template', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner(async () => {
      await new Promise<void>((resolve) => clock.after(1000, () => resolve()));
      return { return: 1 };
    });
    await using fixture = new EvaluationFixture({ program, clock, sandboxes: 2 });
    const evaluation = evaluated(fixture, suiteWith({ stop: { rule: 'fixed', episodes: 20 } }), 3600);
    await clock.advance(60_000);
    const { run } = await evaluation;
    expect(run.sandboxSeconds).toBeGreaterThanOrEqual(20);
    expect(run.cost).toBeCloseTo(run.sandboxSeconds, 9);
  });

  it('without a price has no cost', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(() => ({ return: 1 })), clock: systemClock });
    expect((await evaluated(fixture, suiteWith(), undefined)).run.cost).toBeNull();
  });

  it('ends with its budget of money, labelled partial', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner(async () => {
      await new Promise<void>((resolve) => clock.after(1000, () => resolve()));
      return { return: 1 };
    });
    await using fixture = new EvaluationFixture({ program, clock, sandboxes: 2 });
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 1000 }, budget: { cost: 30 } });
    const evaluation = evaluated(fixture, suite, 3600);
    await clock.advance(60_000);
    const summary = await evaluation;
    expect(summary).toMatchObject({ ended: 'cost', partial: true });
    expect(summary.run.cost).toBeGreaterThanOrEqual(30);
    expect(summary.run.cost).toBeLessThan(32);
    expect(summary.warnings.join()).toMatch(/budget of cost/);
  });

  it('with a budget of money on a template without a price is refused before it begins', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(() => ({ return: 1 })), clock: systemClock });
    const refusal = evaluated(fixture, suiteWith({ budget: { cost: 1 } }), undefined);
    await expect(refusal).rejects.toThrow(/budget\.cost.*"local" has no price.*templates\.local\.costPerSandboxHour/);
  });
});
