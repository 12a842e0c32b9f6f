import { readdir } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TrajectoryDirectory } from '../../src/adapters/files/trajectory-directory.ts';
import type { Trajectory } from '../../src/agents/rollouts/record/trajectory.ts';
import type { Muster } from '../../src/app/main.ts';
import { AgentSuiteFixture, ANSWER_TASK } from '../support/agent-suite-fixture.ts';
import { isFullForm } from '../support/full-form.ts';
import { ScriptedModelServer } from '../support/model-server.ts';
import { says, SHELL_PROGRAM } from '../support/shell-program.ts';
import { Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

let fixture: AgentSuiteFixture;
beforeAll(async () => void (fixture = await AgentSuiteFixture.open({ answer: ANSWER_TASK, short: SHORT_TASK })));
afterAll(() => fixture[Symbol.asyncDispose]());

const SHORT_TASK = {
  ...ANSWER_TASK,
  'task.toml': `${ANSWER_TASK['task.toml']?.replace('test/answer', 'test/short') ?? ''}[agent]\ntimeout_sec = 1\n`,
};

const AGENT = { ...SHELL_PROGRAM, model: 'm', tokenIds: 'vllm' };

interface Played {
  readonly mean: number | null;
  readonly trajectories: readonly Trajectory[];
}

async function play(muster: Muster, name: string, agent: object, task = 'answer'): Promise<Played> {
  const file = await fixture.agent({ ...AGENT, ...agent });
  const suite = await fixture.suite({ tasks: { from: 'tasks', only: [task] }, stop: { rule: 'fixed', episodes: 2 } });
  const out = path.join(fixture.directory, name);
  const { official } = await muster.evaluate({ suite, checkpoint: file }, { out });
  const trajectories: Trajectory[] = [];
  for await (const each of new TrajectoryDirectory(path.join(out, 'trajectories')).read()) trajectories.push(each);
  return { mean: official.mean ?? null, trajectories };
}

describe('an agent that is a program', () => {
  it('reaches its model out of a sandbox without a network, with a key of its own, and its turns are a trajectory', async () => {
    await using muster = await fixture.muster(2);
    process.env['TEST_UPSTREAM_KEY'] = 'upstream-secret';
    await using server = await ScriptedModelServer.start(
      says('env; cat /proc/*/environ; cat /proc/1/cmdline; ls /sys/class/net', 'echo 42 > answer.txt; seq 100000 | head -c 300000'),
    );
    server.version = 3;
    const { mean, trajectories } = await play(muster, 'acts', { endpoint: server.url, keyVariable: 'TEST_UPSTREAM_KEY' });
    expect(mean).toBe(1);
    expect(new Set(server.keys)).toEqual(new Set(['Bearer upstream-secret']));
    expect(trajectories).toHaveLength(2);
    const keys = trajectories.map(
      ({ turns }) => /OPENAI_API_KEY=(?<key>sk-muster-[\w-]+)/.exec(turns[0]?.observations[0]?.text ?? '')?.groups?.['key'],
    );
    expect(new Set(keys).size).toBe(2);
    for (const { turns, segments, stopReason, status, reward, rewritten, prompt } of trajectories) {
      expect({ stopReason, status, reward, rewritten }).toEqual({
        stopReason: 'submitted',
        status: 'completed',
        reward: 1,
        rewritten: false,
      });
      expect(turns).toHaveLength(3);
      expect(turns[1]?.observations[0]?.text).toHaveLength(300_000);
      expect(turns[0]?.observations[0]?.text).not.toContain('upstream-secret');
      expect(turns[0]?.observations[0]?.text).not.toContain(server.url);
      expect(turns.every(({ tokens, policyVersion }) => tokens?.segment === 0 && policyVersion === 3)).toBe(true);
      expect(segments).toHaveLength(1);
      expect(prompt[0]?.role).toBe('user');
    }
  });

  it('is graded as it is, however it ends', async () => {
    const ends: Record<string, unknown> = {};
    await using muster = await fixture.muster(2);
    for (const [name, changes, ...commands] of [
      ['fails', {}, 'echo 42 > answer.txt; kill -9 $PPID'],
      ['turns', { turns: 1 }, 'echo 42 > answer.txt'],
      ['prints', { command: ['/bin/sh', '-c', 'yes'] }],
      // Its parent is the relay to its model. What has lost that goes on in vain: it is ended, and had no right to another attempt.
      ['relay', { command: ['/bin/sh', '-c', 'echo 42 > answer.txt; kill -9 $PPID; sleep 600; rm answer.txt'] }],
    ] as const) {
      await using server = await ScriptedModelServer.start(says(...commands));
      const { trajectories } = await play(muster, name, { endpoint: server.url, ...changes });
      ends[name] = trajectories.map(({ stopReason, status, reward, turns }) => `${stopReason} ${status} ${reward} ${turns.length}`);
    }
    expect(ends).toEqual({
      fails: Array(2).fill('program-failed failed 1 1'),
      turns: Array(2).fill('turns truncated 1 1'),
      prints: Array(2).fill('program-failed failed 0 0'),
      relay: Array(2).fill('program-failed failed 1 0'),
    });
  });

  it('is ended with all that it has started when the time of its task is over', async () => {
    await using muster = await fixture.muster(2);
    await using server = await ScriptedModelServer.start(says());
    const command = ['/bin/sh', '-c', '(setsid sleep 600) & sleep 600'];
    const { trajectories } = await play(muster, 'time', { endpoint: server.url, command }, 'short');
    expect(trajectories.map(({ stopReason, status, reward }) => `${stopReason} ${status} ${reward}`)).toEqual(
      Array(2).fill('time truncated 0'),
    );
  });

  it('has the same official result when its workspace is killed while it acts: the episode is played again', async () => {
    let isStuck = false;
    const told = Promise.withResolvers<void>();
    const work = says('true', 'echo 42 > answer.txt');
    await using server = await ScriptedModelServer.start((asked) => {
      if (!isStuck) return work(asked);
      isStuck = false;
      told.resolve();
      return { text: 'sleep 600; true # agent-at-work' };
    });
    await using muster = await fixture.muster(2);
    const suite = await fixture.suite({ tasks: { from: 'tasks', only: ['answer'] }, stop: { rule: 'fixed', episodes: 2 } });
    const checkpoint = await fixture.agent({ ...AGENT, endpoint: server.url });
    const calm = await muster.evaluate({ suite, checkpoint });
    const asked = server.asked.length;
    isStuck = true;
    const over = new AbortController();
    const striking = told.promise.then(() => fixture.strike({ workspace: 1, grading: 0 }, over.signal));
    const struck = await muster.evaluate({ suite, checkpoint });
    over.abort();
    expect(await striking).toEqual({ workspace: 1, grading: 0 });
    expect(struck.run.retried).toBe(1);
    expect(server.asked.length).toBe(2 * asked + 1);
    expect(JSON.stringify(struck.official)).toBe(JSON.stringify(calm.official));
  });

  // In the short form, rollouts.test.ts and external-agents.test.ts go on after a kill.
  it.runIf(isFullForm)('continues from its stored turns when Muster was killed and runs again with the same --out', async () => {
    let [isHeld, held] = [true, 0];
    const work = says('true', 'echo 42 > answer.txt');
    await using server = await ScriptedModelServer.start((asked) => {
      const reply = work(asked);
      if (reply === 'held' || reply.text !== 'done' || !isHeld) return reply;
      held += 1;
      return 'held';
    });
    const agent = await fixture.agent({ ...AGENT, endpoint: server.url });
    const suite = await fixture.suite({ tasks: { from: 'tasks', only: ['answer'] }, stop: { rule: 'fixed', episodes: 2 } });
    await using stage = await Stage.open();
    const out = stage.path('out');
    const command = ['eval', suite, '--agent', agent, '--sandboxes', '2', '--json', '--out', out];
    const killed = stage.start(command);
    const turns = path.join(out, 'turns');
    const countStored = async (): Promise<readonly number[]> =>
      await Promise.all(
        (await readdir(turns)).map(async (name) => (await readdir(path.join(turns, name))).filter((file) => file.endsWith('.json')).length),
      );
    await killed.until('both episodes wait for their last turn', async () => held === 2 && (await countStored()).join() === '2,2');
    killed.signal('SIGKILL');
    await killed.ended;
    expect(await countStored()).toEqual([2, 2]);
    isHeld = false;
    const complete = await stage.run(command);
    expect(complete.summary()).toMatchObject({ official: { episodes: 2, mean: 1 }, run: { recalled: 0 } });
    const answered = server.asked.map(({ messages }) => messages.filter(({ role }) => role === 'assistant').length);
    expect(answered.sort((one, other) => one - other)).toEqual([0, 0, 1, 1, 2, 2, 2, 2]);
    expect((await readdir(out)).toSorted()).toEqual(['config.json', 'episodes.ndjson', 'summary.json', 'trajectories']);
  });

  it('that is not there ends the evaluation with a remedy', async () => {
    await using muster = await fixture.muster(1);
    await using server = await ScriptedModelServer.start(says());
    await expect(play(muster, 'missing', { endpoint: server.url, command: ['/opt/agent'] })).rejects.toThrow(
      'task test/answer: command: /opt/agent cannot be started in the workspace: No such file or directory; put it, or the interpreter that its first line names, into the image, or mount it',
    );
    await expect(play(muster, 'closed', { endpoint: server.url, command: ['/etc/passwd'] })).rejects.toThrow(
      /\/etc\/passwd cannot be started in the workspace: Permission denied; make it executable$/,
    );
  });

  it('that fails before its first turn leaves the evaluation without an answer, with its last words', async () => {
    await using muster = await fixture.muster(1);
    await using server = await ScriptedModelServer.start(says());
    const command = ['/usr/bin/python3', '/opt/agents/agent.py'];
    await expect(play(muster, 'broken', { endpoint: server.url, command })).rejects.toThrow(
      /all 2 episodes that were played failed, with the same error \(policy-crash\):\ntask test\/answer: the program \/usr\/bin\/python3 ended with status 2 before its first turn: .*can't open file '\/opt\/agents\/agent\.py'/,
    );
    expect(server.asked).toHaveLength(0);
  });
});
