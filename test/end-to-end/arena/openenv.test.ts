import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { eventually } from '../../support/eventually.ts';
import { MusterServer } from '../muster-server.ts';
import { REPOSITORY, Stage } from '../stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const TASKS = join(REPOSITORY, 'examples/code');
const TASK = 'fix-bug-in-sort-function';
const PYTHON = join(REPOSITORY, '.venv-openenv/bin/python');

function configOf(stage: Stage, changes: object = {}): Promise<string> {
  return stage.write('arena.json', { server: { port: 0, access: 'off' }, arena: { tasks: [TASKS] }, ...changes });
}

const solution = async (): Promise<object> => ({
  action: 'write_file',
  file: 'sorting.py',
  content: await readFile(join(TASKS, TASK, 'solution/sorting.py'), 'utf8'),
});

const answerSchema = z.object({ said: z.array(z.unknown()), failure: z.string().nullable() });

/** openenv-core's own client: one process for all tests. */
class Client implements AsyncDisposable {
  readonly #child = spawn(PYTHON, [join(import.meta.dirname, 'openenv_client.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  readonly #ended = once(this.#child, 'close');
  readonly #lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();

  /** @returns what it says. @throws Error with its failure. */
  async run(mode: 'play' | 'tools' | 'production', address: string, actions: readonly object[]): Promise<readonly unknown[]> {
    this.#child.stdin.write(`${JSON.stringify({ mode, address, actions })}\n`);
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the client has ended');
    const { said, failure } = answerSchema.parse(JSON.parse(line.value));
    if (failure !== null) throw new Error(failure);
    return said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}

/** A connection that keeps every frame that it receives. */
class Peer {
  readonly frames: unknown[] = [];
  readonly #socket: WebSocket;

  constructor(url: string, options: { readonly headers?: Record<string, string> } = {}) {
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/openenv/${TASK}/ws`, options);
    this.#socket.on('message', (data) => this.frames.push(JSON.parse(Buffer.isBuffer(data) ? data.toString() : '')));
    this.#socket.on('error', () => undefined);
  }

  async ask(message: string | object): Promise<unknown> {
    await eventually('the connection is open', async () => this.#socket.readyState !== WebSocket.CONNECTING);
    const before = this.frames.length;
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    await eventually('it is answered', async () => this.frames.length > before);
    return this.frames[before];
  }

  async untilClosed(): Promise<void> {
    await eventually('the connection is closed', async () => this.#socket.readyState === WebSocket.CLOSED);
  }

  close(): void {
    this.#socket.close();
  }
}

const error = (code: string, message: string): object => ({ type: 'error', data: { code, message: expect.stringContaining(message) } });

describe('tasks as environments of OpenEnv', () => {
  const client = new Client();
  afterAll(async () => await client[Symbol.asyncDispose]());

  describe('on a server without tokens', () => {
    let stage: Stage;
    let url: string;
    beforeAll(async () => {
      stage = await Stage.open();
      ({ url } = await MusterServer.start(stage, await configOf(stage)));
    });
    afterAll(async () => await stage[Symbol.asyncDispose]());

    it('are played by its client for tools', async () => {
      const answers = await client.run('tools', `${url}/openenv/${TASK}`, [
        { action: 'run', command: 'echo seen' },
        { action: 'fly' },
        { action: 'run' },
        { action: 'read_file', file: 'missing.py' },
        await solution(),
        { action: 'submit' },
      ]);
      expect(answers).toMatchObject([
        { tools: expect.arrayContaining(['run', 'write_file', 'submit']) },
        { result: expect.stringContaining('seen'), error: null },
        { result: null, error: 'tool_not_found' },
        { result: null, error: 'invalid_args' },
        { result: null, error: 'execution_error' },
        { error: null, done: false },
        { error: null, done: true, reward: expect.closeTo(1, 1) },
      ]);
      const address = `${url}/openenv/${TASK}`;
      const [tools, seen, , submitted] = await client.run('production', address, [
        { action: 'run', command: 'echo seen' },
        await solution(),
        { action: 'submit' },
      ]);
      expect(tools).toMatchObject({ tools: expect.arrayContaining(['run', 'write_file', 'submit']) });
      expect(seen).toMatchObject({ result: { text: expect.stringContaining('seen'), step: 1, done: false } });
      expect(submitted).toMatchObject({ result: { done: true, reward: expect.closeTo(1, 1), outcome: 'rewarded' } });
      // A client that closes its session gives the episode up.
      await client.run('production', address, [{ action: 'run', command: 'true' }]);
      const { items } = Object(await (await fetch(`${url}/v1/episodes`)).json());
      expect(items).toMatchObject([{ outcome: 'void', endedBy: 'abandoned' }, { outcome: 'rewarded' }, { outcome: 'rewarded' }]);
      const rpc = async (method: string, params: object): Promise<unknown> => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method, params });
        return (await fetch(`${address}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json();
      };
      const failure = (message: string): object => ({ id: 5, error: { code: -32_602, message: expect.stringContaining(message) } });
      expect(await rpc('tools/call', { name: 'run', arguments: { command: 'true' } })).toMatchObject(failure('create a session first'));
      expect(await rpc('openenv/session/close', { session_id: 'ep-none' })).toMatchObject(failure('there is no episode ep-none'));
      expect(await rpc('tools/fly', {})).toMatchObject({ id: 5, error: { code: -32_601 } });
    });

    it('are listed over HTTP, and played there by the id of the episode', async () => {
      const ask = async (path: string, body?: object): Promise<{ readonly status: number; readonly json: unknown }> => {
        const headers = { 'content-type': 'application/json' };
        const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
        const answer = await fetch(`${url}/openenv${path}`, init);
        return { status: answer.status, json: await answer.json() };
      };
      const { json: list } = await ask('');
      expect(list).toMatchObject({
        environments: expect.arrayContaining([expect.objectContaining({ name: expect.stringContaining(TASK) })]),
      });
      expect(await ask(`/${TASK}/health`)).toEqual({ status: 200, json: { status: 'healthy' } });
      expect(await ask(`/nothing/health`)).toMatchObject({ status: 404, json: { code: 'task.not-found' } });
      expect(await ask(`/${TASK}/metadata`)).toMatchObject({ json: { readme_content: expect.stringContaining('sort_records') } });
      expect(await ask(`/${TASK}/schema`)).toMatchObject({ json: { action: { oneOf: expect.anything() }, state: { type: 'object' } } });
      expect(await ask(`/${TASK}/state`)).toMatchObject({ json: { episode_id: null, step_count: 0 } });
      expect(await ask(`/${TASK}/ws`)).toMatchObject({ json: { code: 'request.upgrade' } });
      const { json: begun } = await ask(`/${TASK}/reset`, { seed: 3 });
      const id: unknown = Object(begun).observation.episode;
      const step = (action: object): ReturnType<typeof ask> => ask(`/${TASK}/step`, { episode_id: id, action });
      expect(await ask(`/${TASK}/step`, { action: { action: 'submit' } })).toMatchObject({ status: 422 });
      expect(await step(await solution())).toMatchObject({ status: 200, json: { reward: null, done: false } });
      expect(await step({ action: 'submit' })).toMatchObject({ json: { reward: 1, done: true, observation: { outcome: 'rewarded' } } });
      expect(await ask(`/${TASK}/state?episode_id=${String(id)}`)).toMatchObject({ json: { step_count: 2 } });
    });
  });

  it('are played by the client of openenv-core: the reward comes with the last step, and a token with the address', async () => {
    await using stage = await Stage.open();
    const token = await stage.token('trainer', 'submitter');
    const { url } = await MusterServer.start(stage, await configOf(stage, { server: { port: 0, access: 'tokens' } }));
    const address = `${url.replace('//', `//muster:${token}@`)}/openenv/${TASK}`;
    const [begun, listed, danced, written, submitted, again, state] = await client.run('play', address, [
      { action: 'run', command: 'ls' },
      { action: 'dance' },
      await solution(),
      { action: 'submit' },
      { action: 'submit' },
    ]);
    expect(begun).toMatchObject({ observation: { text: expect.stringContaining('sort_records'), step: 0 }, reward: null, done: false });
    expect(listed).toMatchObject({ observation: { data: { kind: 'ran' }, step: 1 }, reward: null, done: false });
    expect(danced).toMatchObject({ observation: { data: { kind: 'refused', reason: 'unknown-action' }, step: 2 }, done: false });
    expect(written).toMatchObject({ observation: { data: { kind: 'written' } }, reward: null });
    const end = { observation: { outcome: 'rewarded', tests_passed: 12, total_tests: 12, step: 4 }, done: true };
    expect(submitted).toMatchObject({ ...end, reward: expect.closeTo(1, 1) });
    expect(again).toEqual(submitted);
    expect(state).toMatchObject({ state: { episode_id: 'mine', step_count: 4, task: TASK } });
    await expect(client.run('play', `${url}/openenv/${TASK}`, [])).rejects.toThrow('401');
    const headers = { authorization: `Bearer ${token}` };
    const { items } = Object(await (await fetch(`${url}/v1/episodes`, { headers })).json());
    expect(items).toMatchObject([{ agent: 'openenv-test', principal: 'trainer', seed: 7, outcome: 'rewarded' }]);
  });

  it('answer each invalid message with its own error, and continue', async () => {
    await using stage = await Stage.open();
    const config = await configOf(stage, { quotas: { default: { openEpisodes: 1 } }, arena: { tasks: [TASKS], steps: 2 } });
    const { url } = await MusterServer.start(stage, config);
    const peer = new Peer(url);
    expect(await peer.ask('{')).toEqual(error('INVALID_JSON', 'expected JSON'));
    expect(await peer.ask({ type: 'dance' })).toEqual(error('UNKNOWN_TYPE', 'expected one of reset, step, state, close, mcp'));
    expect(await peer.ask({ type: 'step', data: [] })).toEqual(error('VALIDATION_ERROR', 'data'));
    expect(await peer.ask({ type: 'reset', data: { seed: -1 } })).toEqual(error('VALIDATION_ERROR', 'data.seed'));
    expect(await peer.ask({ type: 'state', more: 1 })).toEqual(error('VALIDATION_ERROR', 'more'));
    expect(await peer.ask('[]')).toEqual(error('VALIDATION_ERROR', 'message'));
    expect(await peer.ask({ type: 'step', data: { action: 'submit' } })).toEqual(error('EXECUTION_ERROR', 'send a reset first'));
    expect(await peer.ask({ type: 'state' })).toEqual({
      type: 'state',
      data: { episode_id: null, step_count: 0, task: TASK, episode: null },
    });
    expect(await peer.ask({ type: 'reset' })).toMatchObject({ type: 'observation', data: { reward: null, done: false } });
    // A second reset gives the first episode up: only one may be open.
    expect(await peer.ask({ type: 'reset' })).toMatchObject({ type: 'observation' });
    const other = new Peer(url);
    expect(await other.ask({ type: 'reset' })).toEqual(error('CAPACITY_REACHED', 'quotas.openEpisodes is 1'));
    await other.untilClosed();
    const rpc = { jsonrpc: '2.0', id: 1 };
    expect(await peer.ask({ type: 'mcp', data: { ...rpc, method: 'tools/list' } })).toMatchObject({
      type: 'mcp',
      data: { id: 1, result: { tools: expect.arrayContaining([expect.objectContaining({ name: 'submit' })]) } },
    });
    expect(await peer.ask({ type: 'mcp', data: { ...rpc, method: 'tools/fly' } })).toMatchObject({ data: { error: { code: -32_601 } } });
    const call = { ...rpc, method: 'tools/call', params: { name: 'run', arguments: { command: 'true' } } };
    expect(await peer.ask({ type: 'mcp', data: call })).toMatchObject({ data: { result: { isError: false, data: { done: false } } } });
    // The second step is the last one: what lies there is graded.
    expect(await peer.ask({ type: 'step', data: { action: 'run', command: 'true' } })).toMatchObject({
      data: { observation: { truncated: true, outcome: 'rewarded' }, reward: 0, done: true },
    });
    expect(await peer.ask({ type: 'reset' })).toMatchObject({ type: 'observation', data: { done: false } });
    peer.close();
    // What is open when the connection ends is given up.
    await eventually('the episode is closed', async () =>
      (await (await fetch(`${url}/v1/episodes?state=open`)).text()).startsWith('{"items":[]'),
    );
    const strange = new Peer(url, { headers: { origin: 'https://elsewhere.example' } });
    await strange.untilClosed();
    expect(strange.frames).toEqual([]);
  });
});
