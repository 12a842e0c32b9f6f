import { once } from 'node:events';
import net from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import nock from 'nock';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { ChatEndpoint } from '../../../src/adapters/models/chat-endpoint.ts';
import { GatewayServer } from '../../../src/adapters/models/gateway/gateway-server.ts';
import { ModelServer } from '../../../src/adapters/models/model-server.ts';
import { programAgentSchema, type ProgramAgent } from '../../../src/agents/acting/model/model-agent.ts';
import { RecordedSession, type SessionEnd } from '../../../src/agents/acting/program/recorded-session.ts';
import { getCompletion } from '../../../src/agents/rollouts/record/sampled-tokens.ts';
import { HurriedClock } from '../../support/hurried-clock.ts';
import { logprobOf, ScriptedModelServer, textOfIds, type FaultyAnswer, type ModelScript } from '../../support/model-server.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const TOOL = { name: 'look', description: 'Looks', parameters: { type: 'object', properties: { at: { type: 'string' } } } };

/** A model that thinks and calls the tool, then repeats the tool's answer. */
const looker: ModelScript = ({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? { text: `I saw ${messages.at(-1)?.content ?? ''}.`, reasoning: 'now I know' }
    : { reasoning: 'let me see', calls: [{ name: 'look', arguments: { at: 'sky' } }] };

interface Place extends AsyncDisposable {
  readonly model: ScriptedModelServer;
  readonly session: RecordedSession;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly url: string;
  readonly key: string;
  readonly ends: readonly SessionEnd[];
  readonly close: () => void;
}

/** A gateway behind a port, as the relay in a workspace has one. */
async function open(changes: Partial<ProgramAgent> = {}, script: ModelScript = looker): Promise<Place> {
  await using opening = new AsyncDisposableStack();
  const model = opening.use(await ScriptedModelServer.start(script));
  const clock = new HurriedClock(200);
  const agent = {
    ...programAgentSchema.parse({ agent: 'program', command: ['x'], endpoint: model.url, model: 'm', tokenIds: 'vllm' }),
    ...changes,
  };
  const terms = { url: model.url, key: 'upstream-secret', concurrency: 4, answerSeconds: 600, patienceSeconds: 60 };
  const server = opening.use(new ModelServer(terms, clock, () => 0.5));
  const ends: SessionEnd[] = [];
  const session = new RecordedSession(agent, 7, {
    endpoint: new ChatEndpoint(agent, server),
    clock,
    onWaiting: () => undefined,
    onEnd: (end) => ends.push(end),
  });
  const entrance = opening.use(opening.use(new GatewayServer(clock)).open(session));
  const port = net.createServer({ allowHalfOpen: true }, (socket) => entrance.connect(socket));
  port.listen(0, '127.0.0.1');
  await once(port, 'listening');
  opening.defer(async () => {
    entrance[Symbol.dispose]();
    port.close();
    await once(port, 'close');
  });
  const address = port.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const held = opening.move();
  return {
    model,
    session,
    ends,
    url,
    key: entrance.key,
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: entrance.key }),
    anthropic: new Anthropic({ baseURL: url, apiKey: entrance.key }),
    close: () => entrance[Symbol.dispose](),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** One tool and its result, as a program of each kind does it. @returns the last text. */
const PROGRAMS: Readonly<Record<string, (place: Place, stream: boolean) => Promise<string>>> = {
  'chat completions': async ({ openai }, stream) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'what is there?' }];
    const tools = [{ type: 'function' as const, function: TOOL }];
    for (;;) {
      const asked = { model: 'gpt-x', messages, tools, max_completion_tokens: 99 };
      const completion = stream
        ? await openai.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalChatCompletion()
        : await openai.chat.completions.create(asked);
      const message = completion.choices[0]?.message;
      expect(completion.usage?.prompt_tokens).toBeGreaterThan(0);
      if (!message?.tool_calls?.length) return message?.content ?? '';
      messages.push(message);
      for (const call of message.tool_calls)
        if (call.type === 'function')
          messages.push({ role: 'tool', tool_call_id: call.id, content: `${call.function.name} ${call.function.arguments}` });
    }
  },
  responses: async ({ openai }, stream) => {
    let input: OpenAI.Responses.ResponseInput | string = 'what is there?';
    let before: string | null = null;
    for (;;) {
      const asked = {
        model: 'gpt-x',
        input,
        previous_response_id: before,
        max_output_tokens: 99,
        tools: [{ type: 'function' as const, strict: false, ...TOOL }],
      };
      const response: OpenAI.Responses.Response = stream
        ? await openai.responses.stream(asked).finalResponse()
        : await openai.responses.create(asked);
      const calls = response.output.filter((item) => item.type === 'function_call');
      if (calls.length === 0) return response.output_text;
      before = response.id;
      input = calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: `${call.name} ${call.arguments}` }));
    }
  },
  messages: async ({ anthropic }, stream) => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'what is there?' }];
    const tools = [
      { name: TOOL.name, description: TOOL.description, input_schema: { type: 'object' as const, properties: TOOL.parameters.properties } },
    ];
    for (;;) {
      const asked = { model: 'claude-x', messages, tools, max_tokens: 99 };
      const answer = stream ? await anthropic.messages.stream(asked).finalMessage() : await anthropic.messages.create(asked);
      const used = answer.content.filter((block) => block.type === 'tool_use');
      if (used.length === 0) return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      expect(answer.stop_reason).toBe('tool_use');
      messages.push({ role: 'assistant', content: answer.content });
      const results = used.map(({ id, name, input }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: `${name} ${JSON.stringify(input)}`,
      }));
      messages.push({ role: 'user', content: results });
    }
  },
};

const answered =
  (status: number, body: string): FaultyAnswer =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(body);

describe('the gateway between a program and its model', () => {
  it.each(Object.keys(PROGRAMS).flatMap((name) => [[name, false] as const, [name, true] as const]))(
    'answers the unmodified client of %s (streamed: %s), and keeps the exact tokens of each turn',
    async (name, stream) => {
      await using place = await open();
      place.model.version = 5;
      expect(await PROGRAMS[name]?.(place, stream)).toBe('I saw look {"at":"sky"}.');
      expect(place.model.asked).toHaveLength(2);
      for (const [i, asked] of place.model.asked.entries())
        expect(asked).toMatchObject({ model: 'm', seed: 7 + i, max_tokens: 99, return_token_ids: true, logprobs: true });
      expect(place.model.asked[0]?.tools).toEqual([{ type: 'function', function: expect.objectContaining(TOOL) }]);
      expect(place.model.asked[1]?.messages[1]).toMatchObject({ role: 'assistant', tool_calls: [{ function: { name: 'look' } }] });
      expect(new Set(place.model.keys)).toEqual(new Set(['Bearer upstream-secret']));
      const { turns, segments, prompt, tools, isRewritten } = place.session.getCourse();
      expect({ prompt, tools, isRewritten }).toEqual({
        prompt: [{ role: 'user', content: 'what is there?' }],
        tools: [TOOL],
        isRewritten: false,
      });
      expect(turns.map(({ observations }) => observations.map(({ text }) => text))).toEqual([['look {"at":"sky"}'], []]);
      for (const { tokens, message, policyVersion } of turns) {
        if (!tokens) throw new Error('a turn has no tokens');
        const said = getCompletion(segments, tokens);
        expect(textOfIds(said.ids)).toContain(`<think>${message.reasoning}</think>${message.content}`);
        expect(said.logprobs).toEqual(said.ids.map(logprobOf));
        expect(policyVersion).toBe(5);
      }
    },
  );

  it('gives a key that is valid for its session only, while the session is open', async () => {
    await using place = await open();
    await using other = await open();
    const ask = (key: string): Promise<number> =>
      fetch(`${place.url}/v1/models`, { headers: { authorization: `Bearer ${key}`, connection: 'close' } }).then(
        ({ status }) => status,
        () => 0,
      );
    expect([await ask(place.key), await ask(other.key), await ask('upstream-secret'), await ask('')]).toEqual([200, 401, 401, 401]);
    place.close();
    expect(await ask(place.key)).toBe(401);
  });

  it('passes on errors that the program caused, and repeats a request where the server fails', async () => {
    await using place = await open();
    const ask = (): Promise<unknown> =>
      place.openai.chat.completions.create({ model: 'x', messages: [{ role: 'user', content: 'hi' }] }).catch((error: unknown) => error);
    place.model.fail(answered(400, '{"error": {"code": "context_length_exceeded"}}'), answered(422, '{"error": "bad tools"}'));
    expect(await ask()).toMatchObject({ status: 400, code: 'context_length_exceeded' });
    expect(place.session.isTooLong).toBe(true);
    expect(await ask()).toMatchObject({ status: 400, code: 'request_refused', message: expect.stringContaining('bad tools') });
    place.model.fail(answered(500, ''), answered(200, 'data: {"choices":[{"del'), answered(200, '{"error": "overloaded"}'));
    expect(await ask()).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
    expect(place.model.unmet).toBe(0);
    expect(place.session.turns).toBe(1);
    expect(place.ends).toEqual([]);
  });

  it.each<[string, Partial<ProgramAgent>, FaultyAnswer, string]>([
    ['refuses its key', {}, answered(401, 'who are you'), 'endpoint.refused'],
    ['gives no token ids', {}, answered(200, '{"model": "m", "choices": [{"message": {"content": "x"}}]}'), 'endpoint.no-tokens'],
    [
      'is another model than before',
      { tokenIds: 'none' },
      answered(200, '{"model": "n", "choices": [{"message": {"content": "x"}}]}'),
      'endpoint.other-model',
    ],
  ])('ends the program whose server %s, which is not its fault', async (_, changes, fault, code) => {
    await using place = await open(changes);
    const ask = (): Promise<unknown> =>
      place.anthropic.messages
        .create({ model: 'x', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })
        .catch((error: unknown) => error);
    expect(await ask()).toMatchObject({ model: 'm' });
    place.model.fail(fault);
    expect(await ask()).toMatchObject({ status: 503 });
    expect(await ask()).toMatchObject({ status: 503 });
    expect(place.ends).toMatchObject([{ kind: 'failed', error: { code } }]);
  });

  it('ends a program that has used up its turns or tokens, with an error that says so', async () => {
    for (const [changes, reason] of [
      [{ turns: 1 }, 'turns'],
      [{ contextTokens: 10 }, 'context'],
    ] as const) {
      await using place = await open(changes);
      const ask = (): Promise<unknown> => place.openai.responses.create({ model: 'x', input: 'hi' }).catch((error: unknown) => error);
      expect(await ask()).toMatchObject({ status: 'completed' });
      expect(place.ends).toEqual([]);
      expect(await ask()).toMatchObject({ status: 403, code: 'agent_limit' });
      expect(place.ends).toEqual([{ kind: 'limit', reason }]);
      expect(place.session.turns).toBe(1);
    }
  });

  it('detects that a conversation was rewritten', async () => {
    await using place = await open();
    const ask = (content: string): Promise<unknown> =>
      place.openai.chat.completions.create({ model: 'x', messages: [{ role: 'user', content }] });
    await ask('hi');
    await ask('a summary');
    expect(place.session.getCourse()).toMatchObject({ isRewritten: true, turns: [{ observations: [{ text: 'a summary' }] }, {}] });
  });

  it.each<[string, string, object | string, string]>([
    ['several answers at once', '/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }], n: 2 }, 'each answer is a turn'],
    ['log-probabilities', '/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }], logprobs: true }, 'hands none out'],
    ['no messages', '/v1/chat/completions', { messages: [] }, 'messages'],
    ['what is no JSON', '/v1/chat/completions', '{"messages": ', 'no JSON'],
    ["a provider's own tools", '/v1/responses', { input: 'x', tools: [{ type: 'web_search' }] }, 'own tools are not there'],
    ['a response that it never had', '/v1/responses', { input: 'x', previous_response_id: 'resp_1' }, 'there is no response resp_1'],
    ['a picture', '/v1/messages', { max_tokens: 1, messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] }, 'content'],
    ['no limit', '/v1/messages', { messages: [{ role: 'user', content: 'x' }] }, 'max_tokens'],
    ['another address', '/v1/embeddings', {}, 'expected POST /v1/chat/completions'],
  ])('refuses a request with %s, and says what it expects', async (_, path, body, said) => {
    await using place = await open();
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${place.url}${path}`, { method: 'POST', headers: { 'x-api-key': place.key }, body: text });
    expect(answer.ok).toBe(false);
    expect(await answer.text()).toContain(said);
    expect(place.model.asked).toEqual([]);
  });
});
