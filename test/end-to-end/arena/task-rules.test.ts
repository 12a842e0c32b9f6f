import { appendFile, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client as McpAgent, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rewardSchema } from '../../../src/agents/arena/episode-answers.ts';
import { startedEpisodeSchema } from '../../../src/faces/http/schemas/agent-episode-schemas.ts';
import { MusterServer } from '../muster-server.ts';
import { Stage } from '../stage.ts';
import { killWorkspaces } from '../../support/process-table.ts';
import { Agent, TASK, TASKS } from './http-agent.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** Prints what it was given, and writes it into the workspace. */
const TOOL = `import json, sys
given = json.load(sys.stdin)
open("given", "w").write(given["text"])
print(sorted(given.items()))`;

/** Finds fault with a word. */
const LINTER = `import sys
for name in sys.argv[1:]:
    for number, line in enumerate(open(name), 1):
        if "FIXME" in line: print(f"{name}:{number}:1: fix it")`;

const RULES = `
[arena]
actions = ["read_file", "write_file"]
abandoned = "graded"
time = "measured"
reward = { base = 2, errors = 0.02 }

[arena.style]
command = ["/usr/bin/python3", "-I", "/tests/lint.py"]
files = ["*.py"]

[[arena.tools]]
name = "keep_text"
description = "keeps a text"
command = ["/usr/bin/python3", "-I", "-c", '''${TOOL}''']
arguments = { text = { description = "what to keep" }, count = { type = "number", optional = true } }
`;

/** Tasks with the same program, one of which says how it is played. */
async function writeTasks(stage: Stage): Promise<string> {
  const directory = stage.path('tasks');
  await cp(join(TASKS, TASK), join(directory, TASK), { recursive: true });
  const file = join(directory, TASK, 'muster.toml');
  await writeFile(file, `${await readFile(file, 'utf8')}${RULES}`);
  await writeFile(join(directory, TASK, 'tests/lint.py'), LINTER);
  return directory;
}

describe('a task that says how it is played', () => {
  it('narrows the actions, brings a tool, measures time and style, weighs the reward, and has abandoned episodes graded', async () => {
    await using stage = await Stage.open();
    const arena = { tasks: [await writeTasks(stage)] };
    const config = await stage.write('arena.json', { server: { port: 0, access: 'off' }, arena });
    const { url } = await MusterServer.start(stage, config);
    const agent = new Agent(url);
    const begun = startedEpisodeSchema.parse((await agent.send('POST', '/v1/episodes', { task: TASK, agent: 'test' })).json);
    expect(begun.actions.map(({ name }) => name)).toEqual(['read_file', 'write_file', 'submit', 'keep_text']);
    expect(begun.actions.at(-1)).toMatchObject({ parameters: { required: ['text'], properties: { count: { type: 'number' } } } });
    const id = begun.episode;
    expect((await agent.step(id, { action: 'run', command: 'true' })).observation).toMatchObject({
      data: { reason: 'not-allowed', detail: 'action run is not allowed in this task; it allows read_file, write_file, submit, keep_text' },
    });
    expect((await agent.step(id, { action: 'keep' })).observation.text).toContain('read_file, write_file, submit, keep_text');
    expect((await agent.step(id, { action: 'keep_text', count: 'x' })).observation.data).toMatchObject({ reason: 'malformed' });
    const kept = await agent.step(id, { step: 4, action: 'keep_text', text: `it's "kept"`, count: 3 });
    expect(kept.observation.text).toBe(`exit code 0\nstdout:\n[('count', 3), ('text', 'it\\'s "kept"')]`);
    expect((await agent.step(id, { action: 'read_file', file: 'given' })).observation.data).toMatchObject({ content: `it's "kept"` });
    expect((await agent.send('GET', `/v1/episodes/${id}/files/content?path=/app/given`)).text).toBe(`it's "kept"`);
    const solution = await readFile(join(TASKS, TASK, 'solution/sorting.py'), 'utf8');
    await agent.step(id, { action: 'write_file', file: 'sorting.py', content: `${solution}# FIXME\n` });
    expect((await agent.send('DELETE', `/v1/episodes/${id}`)).json).toMatchObject({ state: 'grading', endedBy: 'abandoned' });
    const reward = rewardSchema.parse((await agent.send('GET', `/v1/episodes/${id}/reward?wait=100`)).json);
    // Three kinds of actions that were none; a seventh of the smallest step is less than the weight.
    expect(reward).toMatchObject({ outcome: 'rewarded', endedBy: 'abandoned', weights: { base: 2, errors: 0.02, style: 0.05 } });
    expect(reward.components).toMatchObject({ core: 1, gate: 1, errors: 1, style: -1 });
    // Six steps, where the task's own solution takes two: one doubling of four, of steps alone unless the processor was busy.
    const time = reward.components?.time ?? Number.NaN;
    expect(time).toBeGreaterThanOrEqual(1 / 8);
    expect(reward.reward).toBeCloseTo(2 - (2 / (7 * 12 ** 2)) * (1 + time + 1), 12);
    const other = new McpAgent({ name: 'test', version: '1' });
    await other.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    await using _closed = { [Symbol.asyncDispose]: () => other.close() };
    const { structuredContent, content } = await other.callTool({ name: 'start_episode', arguments: { task: TASK } });
    const { episode } = z.looseObject({ episode: z.string() }).parse(structuredContent);
    expect(JSON.stringify(content)).toContain('call_tool runs keep_text: keeps a text');
    const call = (tool: string, given: object) => other.callTool({ name: 'call_tool', arguments: { episode, tool, arguments: given } });
    expect(await call('keep_text', { text: 'kept' })).toMatchObject({ isError: false, structuredContent: { step: 1 } });
    expect(await call('keep', {})).toMatchObject({ isError: true, structuredContent: { step: 2 } });
    expect(await call('', {})).toMatchObject({ isError: true, structuredContent: { code: 'arguments.invalid' } });
    const again = await stage.call(['reward', id, '--server', url, '--weights', '{"shaping": "none"}']);
    expect(again.stdout).toBe(`${id}  ${reward.reward}  1\n`);
    const heavier = await stage.call(['reward', id, '--server', url, '--weights', '{"base": 3, "errors": 0, "time": 0, "style": 0}']);
    expect(heavier.stdout).toBe(`${id}  ${reward.reward}  3\n`);
    expect((await agent.send('GET', `/v1/episodes/${id}/reward`)).json).toEqual(reward);
  });
});

describe('a task that was checked', () => {
  it('is refused while it is unsound, and an episode whose task has changed continues as long as its workspace lives', async () => {
    await using stage = await Stage.open();
    const directory = stage.path('tasks');
    await cp(join(TASKS, TASK), join(directory, TASK), { recursive: true });
    for (const known of ['cheats', 'twins']) await rm(join(directory, TASK, known), { recursive: true });
    const solution = join(directory, TASK, 'solution/sorting.py');
    const right = await readFile(solution, 'utf8');
    const config = await stage.write('arena.json', { server: { port: 0, access: 'off' }, arena: { tasks: [directory] } });
    const check = (...more: string[]) => stage.call(['task', 'check', directory, '--times', '1', '--config', config, ...more]);
    await writeFile(solution, 'nothing');
    await appendFile(join(directory, TASK, 'task.toml'), '\n[odd]\nkey = 1\n');
    const error = "NameError: name 'nothing' is not defined";
    expect(await check('--keep')).toMatchObject({
      exitCode: 2,
      stdout: expect.stringMatching(`ended with status 1; .* printed last: .*${error}`),
    });
    const verified = await stage.call(['verify', join(directory, TASK), '-s', join(directory, TASK, 'solution')]);
    expect(verified.stderr).toMatch(/^muster: .*task\.toml: odd: unknown key; it is kept and has no effect\n$/);
    expect(verified).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(`what it printed last .*:\n(.*\n)+  ${error}`) });
    const { url, command } = await MusterServer.start(stage, config);
    const agent = new Agent(url);
    const start = () => agent.send('POST', '/v1/episodes', { task: TASK, agent: 'test' });
    // An agent does not see what the hidden cases are.
    expect((await start()).json).toMatchObject({
      code: 'task.unsound',
      detail: expect.stringMatching(/its oracle scored 0, expected 1; "muster task check" says why; .*"muster task check --keep"$/),
    });
    // The store is the server's alone: the same command says so, and what to do.
    expect(await check('--keep')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is in use by another Muster') });
    // Mended, it is another task, of which nothing is known.
    await writeFile(solution, right);
    const { episode } = startedEpisodeSchema.parse((await start()).json);
    await agent.step(episode, { action: 'run', command: 'echo kept >kept' });
    await writeFile(solution, `${right}# another one`);
    // The episode goes on in its workspace; what would have to be made of the task's files cannot be had.
    expect((await agent.step(episode, { action: 'run', command: 'cat kept' })).observation.text).toContain('kept');
    expect(await agent.send('GET', `/v1/episodes/${episode}/diff`)).toMatchObject({
      status: 409,
      json: { code: 'episode.files', detail: expect.stringContaining('its task has changed since it began') },
    });
    expect(killWorkspaces(stage.path(''))).toBeGreaterThan(0);
    expect(await agent.send('POST', `/v1/episodes/${episode}/steps`, { action: 'run', command: 'cat kept' })).toMatchObject({
      status: 409,
      json: { code: 'episode.over' },
    });
    expect((await agent.send('GET', `/v1/episodes/${episode}/reward`)).json).toMatchObject({ outcome: 'void', reward: null });
    command.signal('SIGTERM');
    await command.ended;
  });
});
