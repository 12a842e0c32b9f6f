import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentSuiteFixture, SCRIPTED_AGENT } from '../support/agent-suite-fixture.ts';
import { MusterCommand } from './muster-command.ts';

let fixture: AgentSuiteFixture;
let agent: string;
let undisturbed: string;
beforeAll(async () => {
  fixture = await AgentSuiteFixture.open();
  agent = await fixture.agent(SCRIPTED_AGENT);
  await using muster = await fixture.muster(1);
  const { official, run } = await muster.evaluate({ suite: await fixture.suite(), checkpoint: agent });
  expect(run).toMatchObject({ retried: 0, nonDeterministic: [], pool: { died: 0, sandboxesMax: 1 } });
  undisturbed = JSON.stringify(official);
});
afterAll(() => fixture[Symbol.asyncDispose]());

describe('a suite of tasks for agents', () => {
  it('has the same official result on eight sandboxes, some of which are killed while the agent acts and while it is graded', async () => {
    await using muster = await fixture.muster(8);
    const over = new AbortController();
    const striking = fixture.strike({ workspace: 2, grading: 4 }, over.signal);
    const { official, run } = await muster.evaluate({ suite: await fixture.suite(), checkpoint: agent });
    over.abort();
    await striking;
    expect(run.pool.died).toBeGreaterThanOrEqual(3);
    expect(run.retried).toBeGreaterThanOrEqual(2);
    expect(run.nonDeterministic).toEqual([]);
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect(official.metrics).toMatchObject([{ name: 'correctness', missing: 0 }]);
    expect(official.mean).toBeGreaterThan(0);
    expect(official.mean).toBeLessThan(1);
    expect(Object.values(official.failures).every((count) => count === 0)).toBe(true);
  });

  it('goes on after kill -9, with --out, and comes to the same official result; once complete it is not played again', async () => {
    const out = path.join(fixture.directory, 'out');
    const suite = await fixture.suite();
    const environment = { MUSTER_STATE_DIR: fixture.stateDir };
    const command = ['./muster', 'eval', suite, '--agent', agent, '--json', '-n', '2', '--out', out];
    await using killed = new MusterCommand(command, { environment });
    await killed.until('two episodes are kept', async () => (await linesOf(path.join(out, 'episodes.ndjson'))) >= 2);
    killed.signal('SIGKILL');
    expect((await killed.ended).signal).toBe('SIGKILL');

    await using resumed = new MusterCommand(command, { environment });
    const summary = (await resumed.ended).summary();
    expect(JSON.stringify(summary.official)).toBe(undisturbed);
    expect(summary.run.recalled).toBeGreaterThanOrEqual(2);

    await using again = new MusterCommand(command, { environment });
    const repeated = await again.ended;
    expect(repeated.notices).toContain('nothing is played');
    expect(repeated.summary()).toEqual(summary);
  });

  it('promotes the oracle over doing nothing, and stops as soon as the mean is certain enough', async () => {
    await using muster = await fixture.muster(4);
    const suite = await fixture.suite({ tasks: { from: 'tasks', only: ['answer'] }, stop: { rule: 'certified', halfWidth: 0.4 } });
    const compared = await muster.compare({ suite, baseline: 'nop', candidates: ['oracle'], terms: { budgetEpisodes: 80 } });
    expect(compared.verdict).toBe('promote');
    const half = await fixture.suite({ tasks: { from: 'tasks', only: ['half'] }, stop: { rule: 'certified', halfWidth: 0.4 } });
    const { official } = await muster.evaluate({ suite: half, checkpoint: 'nop' });
    expect(official).toMatchObject({ endedBy: 'rule', unresolved: 0 });
    expect(official.mean).toBe(0.5);
    expect((official.interval?.high ?? 1) - (official.interval?.low ?? 0)).toBeLessThanOrEqual(0.8);
  });
});

async function linesOf(file: string): Promise<number> {
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1;
}
