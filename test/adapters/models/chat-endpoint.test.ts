import nock from 'nock';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ChatEndpoint } from '../../../src/adapters/models/chat-endpoint.ts';
import { ModelServer } from '../../../src/adapters/models/model-server.ts';
import { modelAgentSchema, type ModelAgent } from '../../../src/agents/acting/model/model-agent.ts';
import type { CompletionRequest } from '../../../src/agents/acting/model/model-endpoint.ts';
import { HurriedClock } from '../../support/hurried-clock.ts';
import { ScriptedModelServer, type FaultyAnswer, type ModelScript } from '../../support/model-server.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const REQUEST: CompletionRequest = { messages: [{ role: 'user', content: 'hello' }], tools: [], seed: 7 };
const NEVER = new AbortController().signal;

const answered =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): FaultyAnswer =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

const choice = (changes: object): string =>
  JSON.stringify({ model: 'm', choices: [{ message: { content: 'x' }, finish_reason: 'stop', ...changes }], prompt_token_ids: [1] });

const opened: Disposable[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each[Symbol.dispose]();
});

interface Opened extends AsyncDisposable {
  readonly server: ScriptedModelServer;
  readonly endpoint: ChatEndpoint;
  readonly asked: ModelServer;
}

async function open(
  changes: Partial<ModelAgent> = {},
  script: ModelScript = () => ({ text: 'hi' }),
  patienceSeconds = 60,
): Promise<Opened> {
  const server = await ScriptedModelServer.start(script);
  const agent = { ...modelAgentSchema.parse({ agent: 'model', endpoint: server.url, model: 'm' }), ...changes };
  const terms = { url: server.url, key: 'secret', concurrency: 4, answerSeconds: 600, patienceSeconds };
  const asked = new ModelServer(terms, new HurriedClock(200), () => 0.5);
  opened.push(asked);
  return { server, asked, endpoint: new ChatEndpoint(agent, asked), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe('a model server', () => {
  it('is asked with the key, the seed and the sampling of the agent, and gives token ids on request', async () => {
    await using place = await open({ sampling: { temperature: 0.5, maxTokens: 9 }, extra: { top_k: 3 }, tokenIds: 'vllm' });
    place.server.version = 12;
    const completion = await place.endpoint.complete(REQUEST, NEVER);
    expect(completion).toMatchObject({ kind: 'message', content: 'hi', finishReason: 'stop', tokens: { version: 12 } });
    expect(place.server.keys).toEqual(['Bearer secret']);
    expect(place.server.asked[0]).toMatchObject({
      model: 'm',
      seed: 7,
      temperature: 0.5,
      max_tokens: 9,
      top_k: 3,
      return_token_ids: true,
      logprobs: true,
    });
  });

  it.each<[string, FaultyAnswer]>([
    ['is busy', answered(429, '{}', { 'retry-after': '1' })],
    ['fails', answered(500, 'oops')],
    ['is not there', (request) => void request.socket.destroy()],
    ['answers 200 with an error', answered(200, '{"error": {"message": "CUDA out of memory"}}')],
    ['answers 200 with what is no JSON', answered(200, 'data: {"choi')],
    ['answers 200 with something else', answered(200, '{"object": "list"}')],
    ['answers without a choice', answered(200, '{"model": "m", "choices": []}')],
    [
      'ends in the middle of an answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"model": "m"');
        setImmediate(() => response.destroy());
      },
    ],
    ['gives fewer log-probabilities than tokens', answered(200, choice({ token_ids: [1, 2], logprobs: { content: [{ logprob: -1 }] } }))],
  ])('that %s is asked again', async (_, fault) => {
    await using place = await open();
    place.server.fail(fault, fault);
    await expect(place.endpoint.complete(REQUEST, NEVER)).resolves.toMatchObject({ kind: 'message', content: 'hi' });
    expect(place.server.asked).toHaveLength(3);
    expect(place.server.unmet).toBe(0);
  });

  it('that stays away is an infrastructure failure after few requests: the circuit is open', async () => {
    await using place = await open({}, undefined, 120);
    place.server.fail(...Array<FaultyAnswer>(1000).fill(answered(503, '')));
    expect(place.asked.problem).toBeUndefined();
    await expect(place.endpoint.complete(REQUEST, NEVER)).rejects.toMatchObject({ code: 'endpoint.unavailable', kind: 'infrastructure' });
    expect(place.asked.problem).toMatch(/^the model server .* fails repeatedly, and requests wait: it answered 503/);
    expect(place.server.asked.length).toBeGreaterThan(4);
    expect(place.server.asked.length).toBeLessThan(40);
  });

  it.each<[string, FaultyAnswer]>([
    ['OpenAI', answered(400, '{"error": {"code": "context_length_exceeded", "message": "…"}}')],
    ['vLLM', answered(400, '{"message": "This model\'s maximum context length is 4096 tokens. However, you requested 5000"}')],
    ['SGLang', answered(400, '{"message": "The input (5000 tokens) is longer than the model\'s context length (4096 tokens)."}')],
  ])('that finds the conversation too long, in the words of %s, is believed at once', async (_, fault) => {
    await using place = await open();
    place.server.fail(fault);
    await expect(place.endpoint.complete(REQUEST, NEVER)).resolves.toMatchObject({ kind: 'context-exceeded' });
    expect(place.server.asked).toHaveLength(1);
  });

  it.each([400, 413, 422])('that refuses one request with %i fails that request alone', async (status) => {
    await using place = await open();
    place.server.fail(answered(status, '{"error": "tool_calls[0] is not valid"}'));
    await expect(place.endpoint.complete(REQUEST, NEVER)).resolves.toEqual({
      kind: 'request-refused',
      detail: expect.stringContaining(`refuses the request: it answered ${status}: {"error": "tool_calls[0] is not valid"}`),
    });
    await expect(place.endpoint.complete(REQUEST, NEVER)).resolves.toMatchObject({ kind: 'message' });
    expect(place.server.asked).toHaveLength(2);
  });

  it.each([401, 403, 404])('that refuses with %i is not retried: the agent or its key is wrong', async (status) => {
    await using place = await open();
    place.server.fail(answered(status, '{"error": "no"}'));
    await expect(place.endpoint.complete(REQUEST, NEVER)).rejects.toMatchObject({ code: 'endpoint.refused', kind: 'input' });
    expect(place.server.asked).toHaveLength(1);
  });

  it('that changes its model during an episode is an infrastructure failure', async () => {
    let asked = 0;
    await using place = await open({}, () => ({ text: 'hi', model: (asked += 1) === 1 ? 'm-2026-01' : 'm-2026-02' }));
    await place.endpoint.complete(REQUEST, NEVER);
    await expect(place.endpoint.complete(REQUEST, NEVER)).rejects.toMatchObject({
      code: 'endpoint.other-model',
      message: expect.stringContaining('"m-2026-02", and answered as "m-2026-01" before'),
    });
  });

  it('that gives no token ids is refused if the agent requires them', async () => {
    await using place = await open({ tokenIds: 'vllm' });
    place.server.fail(answered(200, choice({})));
    await expect(place.endpoint.complete(REQUEST, NEVER)).rejects.toMatchObject({ code: 'endpoint.no-tokens', kind: 'input' });
  });

  it('is no longer awaited once the episode is given up', async () => {
    await using place = await open();
    const given = new AbortController();
    place.server.fail(() => given.abort(new Error('given up')));
    await expect(place.endpoint.complete(REQUEST, given.signal)).rejects.toThrow('given up');
  });

  it('that answers like SGLang also gives ids and versions', async () => {
    await using place = await open({ tokenIds: 'sglang' });
    const meta = {
      output_token_logprobs: [
        [-0.5, 11, null],
        [-0.25, 12, null],
      ],
      weight_version: '3',
    };
    const body = { model: 'm', choices: [{ message: { content: 'x' }, prompt_token_ids: [1, 2], meta_info: meta }] };
    place.server.fail(answered(200, JSON.stringify(body)));
    await expect(place.endpoint.complete(REQUEST, NEVER)).resolves.toMatchObject({
      tokens: { promptIds: [1, 2], completionIds: [11, 12], logprobs: [-0.5, -0.25], version: 3 },
    });
  });
});
