import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';

const messageSchema = z.looseObject({
  role: z.string(),
  content: z.string().nullish(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.string() }) })).optional(),
});
const requestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema),
  seed: z.number().optional(),
  tools: z.array(z.unknown()).default([]),
  return_token_ids: z.boolean().optional(),
});

export type AskedCompletion = z.infer<typeof requestSchema>;

/** What the model says. */
export interface ScriptedReply {
  readonly text?: string;
  readonly reasoning?: string;
  /** Tools that it calls; a string stands for arguments as they are. */
  readonly calls?: readonly { readonly name: string; readonly arguments: object | string }[];
  readonly finish?: string;
  readonly model?: string;
}

/** Answers in place of the model. */
export type FaultyAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** Decides what the model says, by the conversation so far. `held`: no answer ever comes. */
export type ModelScript = (asked: AskedCompletion) => ScriptedReply | 'held';

/**
 * A server with a scripted model behind it that speaks chat completions as vLLM does. Its tokens are characters. Its template leaves the reasoning of
 * earlier turns out, as those of many models do.
 */
export class ScriptedModelServer implements AsyncDisposable {
  readonly #server: http.Server;
  readonly #script: ModelScript;
  readonly #faults: FaultyAnswer[] = [];
  /** Requests that came, also those that had a faulty answer. */
  readonly asked: AskedCompletion[] = [];
  readonly keys: (string | undefined)[] = [];
  /** As `weight_version` has it. */
  version: number | undefined;

  private constructor(script: ModelScript) {
    this.#script = script;
    this.#server = http.createServer((request, response) => void this.#answer(request, response));
  }

  static async start(script: ModelScript): Promise<ScriptedModelServer> {
    const server = new ScriptedModelServer(script);
    await server.startAgain(0);
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** As a server that is killed: every connection breaks, and none is taken. */
  async kill(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** @param port 0: any that is free. */
  async startAgain(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Answers the next requests, one each. */
  fail(...faults: readonly FaultyAnswer[]): void {
    this.#faults.push(...faults);
  }

  /** Faults that no request has met. */
  get unmet(): number {
    return this.#faults.length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const asked = requestSchema.parse(JSON.parse(Buffer.concat(pieces).toString()));
    this.asked.push(asked);
    this.keys.push(request.headers.authorization);
    const fault = this.#faults.shift();
    if (fault) return fault(request, response);
    const reply = this.#script(asked);
    if (reply === 'held') return;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.#completion(asked, reply)));
  }

  #completion(asked: AskedCompletion, reply: ScriptedReply): object {
    const { text = '', reasoning, calls = [], finish, model = asked.model } = reply;
    const toolCalls = calls.map(({ name, arguments: given }, i) => ({
      id: `call-${asked.messages.length}-${i}`,
      type: 'function',
      function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
    }));
    const prompt = idsOf(`${asked.messages.map(written).join('')}<assistant>`);
    const sampled = idsOf(said({ content: text, reasoning_content: reasoning, tool_calls: toolCalls }));
    const ids = asked.return_token_ids === true;
    return {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model,
      ...(ids && { prompt_token_ids: prompt }),
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text,
            ...(reasoning !== undefined && { reasoning_content: reasoning }),
            ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
          },
          finish_reason: finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
          ...(ids && { token_ids: sampled, logprobs: { content: sampled.map((id) => ({ token: String(id), logprob: logprobOf(id) })) } }),
          ...(this.version !== undefined && { meta_info: { weight_version: String(this.version) } }),
        },
      ],
      usage: { prompt_tokens: prompt.length, completion_tokens: sampled.length, total_tokens: prompt.length + sampled.length },
    };
  }
}

/** Of a token, wherever it stands. */
export function logprobOf(id: number): number {
  return -(1 + (id % 16)) / 8;
}

export function textOfIds(ids: readonly number[]): string {
  return String.fromCodePoint(...ids);
}

type Written = Pick<z.infer<typeof messageSchema>, 'content' | 'reasoning_content' | 'tool_calls'>;

function said({ content, reasoning_content: reasoning, tool_calls: calls = [] }: Written): string {
  const thought = reasoning === undefined ? '' : `<think>${reasoning}</think>`;
  return `${thought}${content ?? ''}${calls.map(({ function: { name, arguments: given } }) => `<call>${name} ${given}`).join('')}<end>`;
}

function written(message: z.infer<typeof messageSchema>): string {
  const text = said({ ...message, reasoning_content: undefined });
  return `<${message.role}>${text}`;
}

function idsOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}
