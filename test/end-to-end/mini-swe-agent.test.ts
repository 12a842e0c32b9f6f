import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { TrajectoryDirectory } from '../../src/adapters/files/trajectory-directory.ts';
import { canTrain } from '../../src/agents/rollouts/formats/formats.ts';
import type { Trajectory } from '../../src/agents/rollouts/record/trajectory.ts';
import { Muster } from '../../src/app/main.ts';
import { AgentSuiteFixture, ANSWER_TASK } from '../support/agent-suite-fixture.ts';
import { ScriptedModelServer } from '../support/model-server.ts';

const ENVIRONMENT = path.join(import.meta.dirname, '../../.venv-programs');
const PYTHON = path.join(ENVIRONMENT, 'bin/python');

/** For what hangs: its imports alone take many seconds of a processor, which a busy machine may give it in half an hour. */
const MOST_SECONDS = 7200;

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** Its options for a local model, and for no person who confirms commands. */
const AGENT = {
  agent: 'program',
  model: 'org/policy',
  tokenIds: 'vllm',
  command: [
    PYTHON,
    '-m',
    'minisweagent.run.mini',
    '--yolo',
    '--exit-immediately',
    '-m',
    'openai/{model}',
    '-t',
    '{instruction}',
    '-o',
    '/tmp/last.json',
  ],
  environment: { MSWEA_COST_TRACKING: 'ignore_errors', MSWEA_CONFIGURED: 'true', LITELLM_LOCAL_MODEL_COST_MAP: 'true', HOME: '/tmp' },
};

describe.skipIf(!existsSync(PYTHON))('mini-swe-agent as it is published (installed by "npm run test:agentic")', () => {
  it('works on a task in its workspace, and its turns can be used for training', { timeout: 1000 * MOST_SECONDS }, async () => {
    const settings = `${ANSWER_TASK['task.toml']}[agent]\ntimeout_sec = ${MOST_SECONDS}\n`;
    await using fixture = await AgentSuiteFixture.open({ answer: { ...ANSWER_TASK, 'task.toml': settings } });
    await using server = await ScriptedModelServer.start(({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const command = ['pwd; ls', 'echo 42 > answer.txt', 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT'][turn] ?? 'exit 1';
      // Its arguments are not JSON: the program has to go on from there.
      if (turn === 0 && messages.length < 3) return { text: 'hm', calls: [{ name: 'bash', arguments: '{"command": ' }] };
      return { text: 'I go on.', calls: [{ name: 'bash', arguments: { command } }] };
    });
    const agent = await fixture.agent({ ...AGENT, endpoint: server.url });
    const suite = await fixture.suite({ stop: { rule: 'fixed', episodes: 2 } });
    const configuration = fixture.configuration(2);
    const { local } = configuration.templates;
    if (!local) throw new Error('there is no template local');
    const interpreter = path.dirname(path.dirname(realpathSync(PYTHON)));
    const mounts = [ENVIRONMENT, ...(interpreter === '/usr' ? [] : [interpreter])].map((source) => ({ source, target: source }));
    const out = path.join(fixture.directory, 'out');
    await using muster = await Muster.open({
      ...configuration,
      templates: { ...configuration.templates, local: { ...local, mounts } },
    });
    const { official, run } = await muster.evaluate({ suite, checkpoint: agent }, { out });
    const trajectories: Trajectory[] = [];
    for await (const each of new TrajectoryDirectory(path.join(out, 'trajectories')).read()) trajectories.push(each);
    if (official.mean !== 1) throw new Error(JSON.stringify([run, trajectories]));
    const [trajectory] = trajectories;
    expect(trajectory).toMatchObject({ status: 'completed', stopReason: 'submitted', reward: 1, tools: [{ name: 'bash' }] });
    expect(trajectory?.turns.length).toBeGreaterThanOrEqual(3);
    expect(trajectory && canTrain(trajectory)).toBe(true);
  });
});
