import { readFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentSuiteFixture, ANSWER_TASK, SCRIPTED_AGENT } from '../support/agent-suite-fixture.ts';
import { isFullForm } from '../support/full-form.ts';
import { writeFiles } from '../support/grading-fixture.ts';
import { connect } from '../../src/app/client/server-client.ts';
import { MusterCommand } from './muster-command.ts';
import { MusterServer } from './muster-server.ts';
import type { Progress } from '../../src/orchestrator/facts/progress.ts';
import { LATE, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

let fixture: AgentSuiteFixture;
let agent: string;
let undisturbed: string;
beforeAll(async () => {
  fixture = await AgentSuiteFixture.open();
  agent = await fixture.agent(SCRIPTED_AGENT);
  await using muster = await fixture.muster(1);
  const playing: number[] = [];
  const onProgress = ({ pool }: Progress): void => void playing.push(pool.sandboxes.leased);
  const { official, run } = await muster.evaluate({ suite: await fixture.suite(), checkpoint: agent }, { onProgress });
  expect(run).toMatchObject({ retried: 0, nonDeterministic: [], pool: { died: 0, sandboxesMax: 1 } });
  expect(Math.max(...playing)).toBe(1);
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
    const killed = await striking;
    expect(killed.workspace).toBe(2);
    expect(run.pool.died).toBeGreaterThanOrEqual(3);
    expect(run.retried).toBeGreaterThanOrEqual(2);
    expect(run.nonDeterministic).toEqual([]);
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect(official.metrics).toMatchObject([{ name: 'correctness', missing: 0 }]);
    expect(official.mean).toBeGreaterThan(0);
    expect(official.mean).toBeLessThan(1);
    expect(Object.values(official.failures).every((count) => count === 0)).toBe(true);
  });

  // In the short form, external-agents.test.ts and resumed-results.test.ts go on after a kill.
  it.runIf(isFullForm)(
    'continues after kill -9 with --out to the same official result, and is not played again once complete',
    async () => {
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
    },
  );

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

  it('is played by a server that names it, and refused when a caller sends it, because it contains code', async () => {
    await using stage = await Stage.open();
    const suite = await fixture.suite({ tasks: { from: 'tasks', only: ['answer'] }, stop: { rule: 'fixed', episodes: 3 } });
    const config = await stage.write('server.json', { stateDir: stage.path('state'), server: { port: 0, suites: { answer: suite } } });
    const server = await MusterServer.start(stage, config);
    const { id } = await server.submit({ suite: 'answer', checkpoint: { uri: 'agent:oracle' } });
    const { summary } = await server.untilOver(id);
    expect(summary).toMatchObject({ official: { mean: 1, episodes: 3 }, checkpoint: { uri: 'agent:oracle' } });
    // It calls no tool: what it has changed is seen at the end.
    const [step] = (await connect(server.url).transcript(id, { index: 2 })).steps;
    expect(step).toMatchObject({ turns: [], verdict: { reward: 1, passed: 1, total: 1 }, stopReason: 'script-ended' });
    expect(step?.rest?.patch).toContain('+42\n');
    const sent = { name: 'sent', tasks: { from: path.join(fixture.directory, 'tasks') }, stop: { rule: 'fixed', episodes: 3 } };
    await expect(server.submit({ suite: sent, checkpoint: { uri: 'agent:oracle' } })).rejects.toThrow(
      'a suite that is sent cannot contain tasks for agents',
    );
  });
});

describe('what is wrong with a suite of tasks for agents', () => {
  const stop = { rule: 'fixed', episodes: 2 };
  it.each<[string, object, string, RegExp]>([
    ['a directory without tasks', { tasks: { from: '.' } }, 'nop', /there is no task\.toml in it, nor in any directory in it/],
    [
      'a task that is not there',
      { tasks: { from: 'tasks', only: ['shares'] } },
      'nop',
      /suite\.yaml:2: there is no task "shares"; .*did you mean "share"\?/,
    ],
    ['a weight for none of them', { tasks: { from: 'tasks', weights: { other: 2 } } }, 'nop', /there is no task "other"/],
    ['other bounds', { reward: { bounds: [0, 2] } }, 'nop', /reward\.bounds: expected \[0, 1\], or nothing/],
    ['batches', { play: { mode: 'vector', width: 2 } }, 'nop', /play: expected single/],
    ['an environment beside them', { environment: 'gymnasium:CartPole-v1' }, 'nop', /expected either "environment" or "tasks"/],
    [
      'an agent without tasks',
      { tasks: undefined, environment: 'gymnasium:CartPole-v1', agent: 'nop', reward: { bounds: [0, 1] } },
      'nop',
      /agent: expected nothing/,
    ],
    ['an invalid agent', {}, 'agent:somebody', /there is no agent "somebody"; expected agent:oracle or agent:nop, or a file/],
    ['a slip in the name of an agent', {}, 'orcale', /agent: expected oracle, nop, or an agent's file.*did you mean "oracle"\?/],
    ['a checkpoint in place of an agent', {}, LATE, /has the name of a checkpoint's file, and this suite has tasks for agents/],
    ['tasks that are not there', { tasks: { from: 'taks' } }, 'nop', /suite\.yaml:\d+: tasks\.from: "taks": /],
    ['a file that is no agent', {}, import.meta.filename, /agent|expected YAML/],
    ['an agent of no kind', {}, path.resolve('package.json'), /package\.json: agent: is missing; expected one of "oracle"\|"nop"\|/],
  ])('%s is named before anything is played', async (_, changes, checkpoint, message) => {
    await using muster = await fixture.muster(1);
    await expect(muster.evaluate({ suite: await fixture.suite({ stop, ...changes }), checkpoint })).rejects.toThrow(message);
  });

  it('a duplicate task is refused, and a changed task makes another suite, whose broken verifier is named', async () => {
    await using place = await AgentSuiteFixture.open({ one: ANSWER_TASK, two: ANSWER_TASK });
    await using muster = await place.muster(1);
    await expect(muster.loadSuite({ suite: await place.suite() })).rejects.toThrow('"test/answer" is used twice');
    const suite = await place.suite({ tasks: { from: 'tasks/one' } });
    const before = await muster.loadSuite({ suite });
    await writeFiles(path.join(place.directory, 'tasks/one'), { 'tests/test.sh': '#!/bin/bash\necho 1.5 >/logs/verifier/reward.txt\n' });
    const after = await muster.loadSuite({ suite });
    expect(after.definition.digest).not.toBe(before.definition.digest);
    expect((await muster.evaluateLoaded(before, { checkpoint: 'oracle' })).official.mean).toBe(1);
    await expect(muster.evaluateLoaded(after, { checkpoint: 'nop' })).rejects.toThrow('task test/answer: its verifier is broken');
  });
});

async function linesOf(file: string): Promise<number> {
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1;
}
