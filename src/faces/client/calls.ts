import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { z } from 'zod';
import { sleep } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { getMessage, InfrastructureError, type MusterError } from '../../kernel/errors.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { problemSchema } from '../http/problems/problem.ts';
import { OtherVersions } from '../server-version.ts';
import { RefusedError, UnavailableError } from './client-errors.ts';
import { Patience, type PatienceOptions } from './patience.ts';
import { openAnswer, readText } from './wire.ts';

export interface CallsOptions extends PatienceOptions {
  /** The URL has no slash at the end. */
  readonly url: string;
  readonly token: string | undefined;
  /** Called once for each other version of the server, and when a request is retried. */
  readonly warn: (message: string) => void;
}

export interface Call {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path from the root of the server, with the query. */
  readonly path: string;
  /** Sent as JSON, bytes as they are. */
  readonly body?: object | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** The wait for a slow answer. */
  readonly answerMilliseconds?: number;
  /** Statuses that count as answers, besides those of success. */
  readonly also?: readonly number[];
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const ANSWER_MILLISECONDS = 120_000;
/**
 * The server reads a checkpoint to its end before it accepts a question about it, or stores it: minutes for the largest. It gives up when the caller
 * does, so that asking again would start from the beginning.
 */
export const SLOW_ANSWER_MILLISECONDS = 900_000;

/** Requests to one server. */
export class Calls {
  readonly options: CallsOptions;
  readonly #versions: OtherVersions;

  constructor(options: CallsOptions) {
    this.options = options;
    this.#versions = new OtherVersions(options);
  }

  /**
   * Repeats a request until it is answered, within the client's patience: for requests that are safe to repeat.
   *
   * @throws RefusedError; UnavailableError when patience has run out; InfrastructureError `muster.defect`, `server.answer`; the signal's reason.
   */
  async send(call: Call): Promise<Answer> {
    const patience = new Patience(this.options);
    for (;;) {
      try {
        return await this.tryOnce(call);
      } catch (error) {
        await this.pause(patience, error, call.signal);
      }
    }
  }

  /** Sends a request as `send` does, and reads the answer by a schema. */
  async ask<Schema extends z.ZodType>(schema: Schema, call: Call): Promise<z.infer<Schema>> {
    return this.read(schema, await this.send(call), call);
  }

  /** Sends a request as `ask` does, for requests that must not be repeated. */
  async askOnce<Schema extends z.ZodType>(schema: Schema, call: Call): Promise<z.infer<Schema>> {
    return this.read(schema, await this.tryOnce(call), call);
  }

  /** Makes one attempt. @throws as `send` does. */
  async tryOnce(call: Call): Promise<Answer> {
    const { answerMilliseconds = ANSWER_MILLISECONDS } = call;
    const { url, clock } = this.options;
    const createTimeoutError = (): Error =>
      new UnavailableError('server.late', `${url} did not answer within ${answerMilliseconds / 1000} s`);
    using deadline = new Deadline(clock, answerMilliseconds, createTimeoutError, call.signal);
    const message = await this.open(call, deadline.signal);
    const text = await readText(message, url, deadline.signal);
    return { status: message.statusCode ?? 0, headers: message.headers, text };
  }

  /** Makes one attempt, without reading the answer's body. @throws as `send` does. */
  async open(call: Call, signal: AbortSignal): Promise<IncomingMessage> {
    const { url } = this.options;
    const { method, path, also = [] } = call;
    const message = await openAnswer(`${url}${path}`, { method, headers: this.#buildHeaders(call), body: encodeBody(call), signal });
    const { statusCode: status = 0, headers } = message;
    this.#versions.check(headers);
    if ((status >= 200 && status < 300) || also.includes(status)) return message;
    throw readProblem(status, headers, await readText(message, url, signal));
  }

  /** Waits before the next attempt, and warns before the first. @throws the error when no further attempt is due. */
  async pause(patience: Patience, error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const { clock, retry, warn } = this.options;
    const isFirst = !patience.isTried;
    const milliseconds = patience.pauseAfter(error);
    if (isFirst) warn(`${getMessage(error)} (trying again for ${retry.patienceMilliseconds / 1000} s)`);
    await sleep(clock, milliseconds, signal);
  }

  /** @throws InfrastructureError `server.answer` when it does not match. */
  read<Schema extends z.ZodType>(
    schema: Schema,
    { text }: Pick<Answer, 'text'>,
    { method, path }: Pick<Call, 'method' | 'path'>,
  ): z.infer<Schema> {
    const parsed = schema.safeParse(this.parseJson(text, `${method} ${path}`));
    if (parsed.success) return parsed.data;
    throw this.#createStrangeAnswerError(`${method} ${path}`, z.prettifyError(parsed.error));
  }

  /** @param what the request, for messages. @throws InfrastructureError `server.answer` */
  parseJson(text: string, what: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.#createStrangeAnswerError(what, getMessage(error));
    }
  }

  #createStrangeAnswerError(what: string, found: string): InfrastructureError {
    return new InfrastructureError('server.answer', `${this.options.url} answered ${what} with something else: ${found}`);
  }

  #buildHeaders({ body, headers }: Call): Readonly<Record<string, string>> {
    const { token } = this.options;
    return {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': body instanceof Uint8Array ? 'application/octet-stream' : 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    };
  }
}

function encodeBody({ body }: Call): string | Uint8Array | undefined {
  return body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
}

/** Statuses of temporary failures. */
const PASSING = new Set([502, 503, 504]);
const MOST_SHOWN_CHARACTERS = 500;

/** Reads the error of an unsuccessful answer. A proxy may have given it, or it may be that of HEAD, which has no body. */
function readProblem(status: number, headers: IncomingHttpHeaders, text: string): MusterError {
  const { code, detail, errors } = parseDocument(text) ?? describeMissingProblem(status, headers, text);
  const retryAfterSeconds = parseSeconds(headers['retry-after']);
  if (PASSING.has(status)) return new UnavailableError(code, detail, { retryAfterSeconds });
  if (status >= 400 && status < 500) return new RefusedError({ status, code, detail, errors, retryAfterSeconds });
  return new InfrastructureError(code, detail);
}

/** A later version of the server may say more. */
const answerDocumentSchema = z.object(problemSchema.pick({ code: true, detail: true, errors: true }).shape);
type AnswerDocument = z.infer<typeof answerDocumentSchema>;

function parseDocument(text: string): AnswerDocument | undefined {
  return answerDocumentSchema.safeParse(tryParseJson(text)).data;
}

/** The server's message in a header, where it has no other. */
const DESCRIBED = /\bcode="([^"]*)", error_description="([^"]*)"/;

function describeMissingProblem(status: number, headers: IncomingHttpHeaders, text: string): AnswerDocument {
  const [, code, detail] = DESCRIBED.exec(headers['www-authenticate'] ?? '') ?? [];
  if (text === '' && code !== undefined && detail !== undefined) return { code, detail, errors: [] };
  const said = text.slice(0, MOST_SHOWN_CHARACTERS);
  return { code: 'server.answer', detail: `the server answered with ${status}${said === '' ? '' : `: ${said}`}`, errors: [] };
}

/** Muster does not use HTTP's other form, a date: it counts as none. */
function parseSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
