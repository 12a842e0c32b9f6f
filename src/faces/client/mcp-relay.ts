import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { getMessage, InfrastructureError, InputError } from '../../kernel/errors.ts';
import { SLOW_ANSWER_MILLISECONDS, type Answer, type Calls } from './calls.ts';

const messageSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
});
const initializedSchema = z.looseObject({ result: z.looseObject({ protocolVersion: z.string() }) });

const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;

/** Sends messages of the Model Context Protocol to a server and returns its answers, for a program that uses the protocol over pipes. */
export class McpRelay {
  readonly #calls: Calls;
  /** Negotiated with the server. */
  #version: string | undefined;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Sends nothing twice. A failure on the way is an answer, too.
   *
   * @param line a message as JSON. @returns the messages that answer it, each as one line. @throws the signal's reason.
   */
  async relay(line: string, signal: AbortSignal): Promise<readonly string[]> {
    const message = readMessage(line);
    if (message === undefined) return [formatFailure(null, PARSE_ERROR, 'expected one message of JSON-RPC 2.0 a line')];
    try {
      const answers = readAnswers(await this.#send(message, signal));
      if (message.method === 'initialize') this.#version = findVersion(answers) ?? this.#version;
      return answers.map((answer) => JSON.stringify(answer));
    } catch (error) {
      if (signal.aborted || !(error instanceof InfrastructureError || error instanceof InputError)) throw error;
      return message.id === undefined ? [] : [formatFailure(message.id, SERVER_ERROR, getMessage(error))];
    }
  }

  #send(message: object, signal: AbortSignal): Promise<Answer> {
    const version = this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version };
    const headers = { accept: 'application/json, text/event-stream', ...version };
    const call = { method: 'POST', path: '/mcp', body: message, headers, signal, answerMilliseconds: SLOW_ANSWER_MILLISECONDS } as const;
    return this.#calls.tryOnce(call);
  }
}

function readMessage(line: string): z.infer<typeof messageSchema> | undefined {
  try {
    return messageSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** @throws InfrastructureError when it is no answer of the protocol. */
function readAnswers({ text, headers }: Answer): readonly unknown[] {
  const found: string[] = [];
  if (headers['content-type']?.startsWith('text/event-stream') === true)
    createParser({ onEvent: ({ data }) => void (data !== '' && found.push(data)) }).feed(`${text}\n\n`);
  else if (text.trim() !== '') found.push(text);
  try {
    return found.flatMap((each): unknown => JSON.parse(each));
  } catch (error) {
    throw new InfrastructureError('server.answer', `the server answered a message of MCP with something else: ${getMessage(error)}`);
  }
}

function findVersion(answers: readonly unknown[]): string | undefined {
  return answers.map((answer) => initializedSchema.safeParse(answer).data?.result.protocolVersion).find((version) => version !== undefined);
}

function formatFailure(id: string | number | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}
