import { readFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TrajectoryDirectory } from '../../src/adapters/files/trajectory-directory.ts';
import { getCompletion, getPrompt } from '../../src/agents/rollouts/record/sampled-tokens.ts';
import type { Trajectory } from '../../src/agents/rollouts/record/trajectory.ts';
import { AgentSuiteFixture, ANSWER_TASK, SHARE_TASK } from '../support/agent-suite-fixture.ts';
import { logprobOf, ScriptedModelServer, textOfIds, type AskedCompletion, type ScriptedReply } from '../support/model-server.ts';
import { MusterCommand } from './muster-command.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** With a tool of its own, which writes the answer that it is given. */
const TOOL_TASK = {
  ...ANSWER_TASK,
  'muster.toml': `
[[arena.tools]]
name = "answer_with"
description = "writes the answer"
command = ["/usr/bin/python3", "-I", "-c", "import json, sys; print(json.load(sys.stdin)['number'], file=open('answer.txt', 'w'))"]
arguments = { number = { type = "number" } }
`,
};

let fixture: AgentSuiteFixture;
beforeAll(async () => void (fixture = await AgentSuiteFixture.open({ answer: TOOL_TASK, share: SHARE_TASK })));
afterAll(() => fixture[Symbol.asyncDispose]());

/** Writes the answer, but not before it has made some mistakes; every third episode, by its seed, gives up. */
function solver({ messages, seed = 0 }: AskedCompletion): ScriptedReply {
  const turn = messages.filter(({ role }) => role === 'assistant').length;
  const isShare = messages.some(({ role, content }) => role === 'tool' && content?.includes('abs.py'));
  const thought = { reasoning: `turn ${turn} of ${(seed - turn) % 3}` };
  switch (turn) {
    case 0:
      return { ...thought, calls: [{ name: 'list_files', arguments: {} }] };
    case 1:
      return { ...thought, text: 'I think that I know.' };
    case 2:
      return { ...thought, calls: [{ name: 'write_file', arguments: '{"file": "answer.txt", "content": ' }] };
    case 3:
      return { ...thought, calls: [{ name: 'fly', arguments: {} }] };
    case 4: {
      if ((seed - turn) % 3 === 0) return { ...thought, calls: [{ name: 'submit', arguments: {} }] };
      const solved = isShare
        ? { name: 'edit_file', arguments: { file: 'abs.py', old: 'int(input())', new: 'abs(int(input()))' } }
        : { name: 'write_file', arguments: { file: 'answer.txt', content: '42\n' } };
      return { ...thought, calls: [solved, { name: 'submit', arguments: '' }] };
    }
    default:
      throw new Error('it goes on after its end');
  }
}

const says = (text: string): object => ({ text: expect.stringContaining(text) });

async function trajectoriesOf(out: string): Promise<readonly Trajectory[]> {
  const all: Trajectory[] = [];
  for await (const each of new TrajectoryDirectory(path.join(out, 'trajectories')).read()) all.push(each);
  return all;
}

describe('an agent that is a model', () => {
  it('acts through tools, sees its mistakes, and has the same official result on one sandbox and on four, and while its server fails', async () => {
    await using server = await ScriptedModelServer.start(solver);
    server.version = 3;
    const agent = await fixture.agent({ agent: 'model', endpoint: server.url, model: 'm', tokenIds: 'vllm' });
    const suite = await fixture.suite({ stop: { rule: 'fixed', episodes: 6 } });
    const out = path.join(fixture.directory, 'out');
    await using one = await fixture.muster(1);
    const { official, run } = await one.evaluate({ suite, checkpoint: agent }, { out });
    expect(run.nonDeterministic).toEqual([]);
    expect(official.mean).toBeGreaterThan(0);
    expect(official.mean).toBeLessThan(1);

    await using four = await fixture.muster(4);
    server.fail(...Array(3).fill((_: unknown, response: { destroy(): void }) => response.destroy()));
    const again = await four.evaluate({ suite, checkpoint: agent });
    expect(server.unmet).toBe(0);
    expect(JSON.stringify(again.official)).toBe(JSON.stringify(official));

    const kept = await trajectoriesOf(out);
    expect(kept.map(({ rep }) => rep).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(kept.reduce((sum, { reward }) => sum + (reward ?? 0), 0) / 6).toBeCloseTo(official.mean ?? Number.NaN, 12);
    for (const trajectory of kept) expectExact(trajectory);
    await expectExports(out, kept);
    const [first] = kept;
    expect(first?.turns.map(({ observations }) => observations.map(({ text }) => text.slice(0, 25)))).toMatchObject([
      [expect.anything()],
      ['You called no tool. Call '],
      ['Not done (malformed): the'],
      ['Not done (unknown-action)'],
      expect.anything(),
    ]);
  });

  it('is graded as it is after three answers without a tool, the last turn, or a conversation that is too long', async () => {
    const ends: Record<string, string[]> = {};
    const observed: Record<string, unknown> = {};
    for (const [name, script, changes] of [
      ['talks', (): ScriptedReply => ({ text: 'hm' }), {}],
      [
        'turns',
        (): ScriptedReply => ({ calls: ['x', 42].map((number) => ({ name: 'answer_with', arguments: { number } })) }),
        { turns: 2 },
      ],
      ['context', (): ScriptedReply => ({ calls: [{ name: 'bash', arguments: { command: 'true' } }] }), { contextTokens: 900 }],
    ] as const) {
      await using server = await ScriptedModelServer.start(script);
      const agent = await fixture.agent({ agent: 'model', endpoint: server.url, model: 'm', tools: 'bash', ...changes });
      const suite = await fixture.suite({ tasks: { from: 'tasks', only: ['answer'] }, stop: { rule: 'fixed', episodes: 2 } });
      const out = path.join(fixture.directory, name);
      await using muster = await fixture.muster(2);
      await muster.evaluate({ suite, checkpoint: agent }, { out });
      const kept = await trajectoriesOf(out);
      observed[name] = kept[0]?.turns[0]?.observations;
      ends[name] = kept.map(({ stopReason, status, reward }) => `${stopReason} ${status} ${reward}`);
    }
    expect(observed['turns']).toMatchObject([says('answer_with: number'), says('exit code 0')]);
    expect(ends).toEqual({
      talks: Array(2).fill('no-action completed 0'),
      turns: Array(2).fill('turns truncated 1'),
      context: Array(2).fill('context truncated 0'),
    });
  });

  it('fails one episode when its server refuses one request, and the other episodes count unchanged', async () => {
    await using server = await ScriptedModelServer.start(({ messages }) =>
      messages.some(({ role }) => role === 'assistant')
        ? { calls: [{ name: 'submit', arguments: {} }] }
        : { calls: [{ name: 'write_file', arguments: { file: 'answer.txt', content: '42' } }] },
    );
    const agent = await fixture.agent({ agent: 'model', endpoint: server.url, model: 'm' });
    const suite = await fixture.suite({ tasks: { from: 'tasks', only: ['answer'] }, stop: { rule: 'fixed', episodes: 2 } });
    server.fail((_, response) => void response.writeHead(400).end('{"error": "malformed messages"}'));
    const out = path.join(fixture.directory, 'refusing');
    await using muster = await fixture.muster(1);
    const { official, run } = await muster.evaluate({ suite, checkpoint: agent }, { out });
    expect(server.unmet).toBe(0);
    expect(official).toMatchObject({ episodes: 2, mean: 0.5 });
    expect(JSON.stringify(run)).toContain('refuses the request: it answered 400: {\\"error\\": \\"malformed messages\\"}');
    const kept = await trajectoriesOf(out);
    expect(kept.map(({ stopReason, status, reward }) => `${stopReason} ${status} ${reward}`).sort()).toEqual([
      'refused failed null',
      'submitted completed 1',
    ]);
  });

  it('whose server refuses, or whose key is not set, ends the evaluation with an error that says so', async () => {
    await using server = await ScriptedModelServer.start(() => ({}));
    server.fail(
      (_, response) => void response.writeHead(401).end('who are you'),
      (_, response) => void response.writeHead(401).end(''),
    );
    const suite = await fixture.suite({ stop: { rule: 'fixed', episodes: 2 } });
    await using muster = await fixture.muster(1);
    const refused = await fixture.agent({ agent: 'model', endpoint: server.url, model: 'm' });
    await expect(muster.evaluate({ suite, checkpoint: refused })).rejects.toThrow(
      /task test\/\w+: the model server 127.*it answered 401: who are you/,
    );
    const keyless = await fixture.agent({ agent: 'model', endpoint: server.url, model: 'm', keyVariable: 'MUSTER_TEST_NO_SUCH_KEY' });
    await expect(muster.evaluate({ suite, checkpoint: keyless })).rejects.toThrow(
      'the environment variable MUSTER_TEST_NO_SUCH_KEY is not set',
    );
    const unknown = await fixture.agent({ agent: 'model', endpoint: 'qwen', model: 'm' });
    await expect(muster.evaluate({ suite, checkpoint: unknown })).rejects.toThrow('there is no "qwen" in models.endpoints');
  });
});

/** By the command line, as a person would. */
async function expectExports(out: string, kept: readonly Trajectory[]): Promise<void> {
  const printed = async (...words: readonly string[]): Promise<string> => {
    await using command = new MusterCommand(['./muster', 'rollouts', ...words], {});
    const { exitCode, stdout } = await command.ended;
    expect(exitCode).toBe(0);
    return stdout;
  };
  const id = kept[0]?.trajectory ?? '';
  expect(await printed('list', out)).toContain(id);
  expect(await printed('show', out, id)).toContain('calls fly:');
  const solved = await printed('export', out, '--format', 'messages', '--min-reward', '1');
  expect(solved.split('\n').length - 1).toBe(kept.filter(({ reward }) => reward === 1).length);
  const file = path.join(out, 'verl.jsonl');
  await printed('export', out, '--format', 'verl', '--out', file);
  const samples = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(samples).toHaveLength(kept.reduce((sum, { segments }) => sum + segments.length, 0));
  await using again = new MusterCommand(['./muster', 'rollouts', 'export', out, '--out', file], {});
  expect((await again.ended).exitCode).toBe(2);
}

/** Its tokens are characters, so they say whether they are what the model saw and said, and the template drops earlier reasoning. */
function expectExact({ turns, segments }: Trajectory): void {
  expect(segments.length).toBe(turns.length);
  for (const [i, { tokens, message, policyVersion }] of turns.entries()) {
    if (!tokens) throw new Error('a turn has no tokens');
    const said = getCompletion(segments, tokens);
    expect(textOfIds(said.ids)).toContain(`<think>${message.reasoning}</think>${message.content}`);
    expect(said.logprobs).toEqual(said.ids.map(logprobOf));
    expect(textOfIds(getPrompt(segments, tokens)).split('<assistant>')).toHaveLength(i + 2);
    expect(textOfIds(getPrompt(segments, tokens))).not.toContain('<think>');
    expect(policyVersion).toBe(3);
  }
}
