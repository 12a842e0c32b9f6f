import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MusterServer } from '../muster-server.ts';
import { REPOSITORY, Stage } from '../stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const TASKS = join(REPOSITORY, 'examples/code');
const TASK = 'fix-bug-in-sort-function';

function configOf(stage: Stage, changes: object = {}): Promise<string> {
  return stage.write('arena.json', { server: { port: 0, access: 'off' }, arena: { tasks: [TASKS] }, ...changes });
}

const solution = (): Promise<string> => readFile(join(TASKS, TASK, 'solution/sorting.py'), 'utf8');

/** The official client, as an agent has it. */
class Agent implements AsyncDisposable {
  readonly client = new Client({ name: 'test', version: '1' });

  static async connect(url: string, token?: string): Promise<Agent> {
    const agent = new Agent();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    await agent.client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
    return agent;
  }

  async call(name: string, given: Record<string, unknown> = {}): Promise<CallToolResult> {
    return await this.client.callTool({ name, arguments: given });
  }

  async start(): Promise<string> {
    const { structuredContent } = await this.call('start_episode', { task: TASK, agent: 'mcp-test', seed: 3 });
    return z.looseObject({ episode: z.string() }).parse(structuredContent).episode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

const says = (text: string): object => ({ content: [{ type: 'text', text: expect.stringContaining(text) }] });

describe('the arena as tools of the Model Context Protocol', () => {
  it('is played by the official client, and the last step has the reward', async () => {
    await using stage = await Stage.open();
    const token = await stage.token('agent', 'submitter');
    const { url } = await MusterServer.start(stage, await configOf(stage, { server: { port: 0, access: 'tokens' } }));
    await expect(Agent.connect(url)).rejects.toThrow('401');
    await using agent = await Agent.connect(url, token);
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['list_tasks', 'start_episode', 'run', 'write_file', 'submit']));
    expect(tools.find(({ name }) => name === 'read_file')).toMatchObject({ inputSchema: { required: ['episode', 'file'] } });
    expect(await agent.call('list_tasks')).toMatchObject(says(TASK));
    const episode = await agent.start();
    expect(await agent.call('run', { episode, command: 'cat sorting.py' })).toMatchObject({ ...says('sort_records'), isError: false });
    expect(await agent.call('run', { episode, command: 5 })).toMatchObject({
      ...says('command'),
      isError: true,
      structuredContent: { step: 2 },
    });
    expect(await agent.call('read_file', { episode, file: 'none' })).toMatchObject({ isError: true });
    expect(await agent.call('write_file', { episode, file: 'sorting.py', content: await solution() })).toMatchObject({ isError: false });
    const end = await agent.call('submit', { episode });
    expect(end).toMatchObject({ ...says('12 of 12 tests pass'), structuredContent: { done: true, step: 5 } });
    expect(await agent.call('submit', { episode })).toEqual(end);
    const headers = { authorization: `Bearer ${token}` };
    expect(await (await fetch(`${url}/v1/episodes`, { headers })).json()).toMatchObject({
      items: [{ agent: 'mcp-test', seed: 3, outcome: 'rewarded', reward: expect.closeTo(1, 1) }],
    });
  });

  it('tells the model its mistake, and enforces quotas and principals', async () => {
    await using stage = await Stage.open();
    const [owner, stranger] = [await stage.token('owner', 'submitter'), await stage.token('stranger', 'submitter')];
    const changes = { server: { port: 0, access: 'tokens' }, quotas: { default: { openEpisodes: 1 } } };
    const { url } = await MusterServer.start(stage, await configOf(stage, changes));
    await using agent = await Agent.connect(url, owner);
    expect(await agent.call('start_episode', { task: 'nothing' })).toMatchObject({ ...says('there is no task "nothing"'), isError: true });
    expect(await agent.call('start_episode', {})).toMatchObject({ ...says('task:'), isError: true });
    expect(await agent.call('run', { command: 'true' })).toMatchObject({ ...says('episode: expected'), isError: true });
    const episode = await agent.start();
    expect(await agent.call('start_episode', { task: TASK })).toMatchObject({ ...says('quotas.openEpisodes is 1'), isError: true });
    await using other = await Agent.connect(url, stranger);
    expect(await other.call('run', { episode, command: 'true' })).toMatchObject({ ...says('there is no episode'), isError: true });
    expect(await agent.call('cancel_episode', { episode })).toMatchObject({ structuredContent: { outcome: 'void' } });
    await expect(agent.call('dance', { episode })).rejects.toThrow('dance');
    const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/json' };
    expect((await fetch(`${url}/mcp`, { method: 'POST', headers, body: '{"jsonrpc":"1.0"}' })).status).toBe(400);
    expect((await fetch(`${url}/mcp`, { headers })).status).toBe(405);
  });

  it('is played over pipes by an agent that starts muster mcp, which reports an unreachable server', async () => {
    await using stage = await Stage.open();
    const server = await MusterServer.start(stage, await configOf(stage));
    const client = new Client({ name: 'test', version: '1' });
    const command = join(REPOSITORY, 'muster');
    await client.connect(new StdioClientTransport({ command, args: ['mcp', '--server', server.url], stderr: 'ignore' }));
    await using _closed = { [Symbol.asyncDispose]: () => client.close() };
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('start_episode');
    const begun = await client.callTool({ name: 'start_episode', arguments: { task: TASK } });
    const { episode } = z.looseObject({ episode: z.string() }).parse(begun.structuredContent);
    const [one, other] = await Promise.all([
      client.callTool({ name: 'run', arguments: { episode, command: 'echo one' } }),
      client.callTool({ name: 'list_tasks', arguments: {} }),
    ]);
    expect([one, other]).toMatchObject([says('one'), says(TASK)]);
    await client.callTool({ name: 'write_file', arguments: { episode, file: 'sorting.py', content: await solution() } });
    expect(await client.callTool({ name: 'submit', arguments: { episode } })).toMatchObject(says('reward 1; 12 of 12 tests pass'));
    server.command.signal('SIGTERM');
    await server.command.ended;
    await expect(client.callTool({ name: 'list_tasks', arguments: {} })).rejects.toThrow('cannot be reached');
  });
});
