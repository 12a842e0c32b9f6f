import { EventSourceParserStream } from 'eventsource-parser/stream';
import pRetry from 'p-retry';
import { z } from 'zod';
import { sleep, type Clock } from '../kernel/clock.ts';
import { Deadline } from '../kernel/deadline.ts';
import { InfrastructureError, InputError, messageOf, MusterError } from '../kernel/errors.ts';
import {
  evaluationPageSchema,
  evaluationSchema,
  type EvaluationItem,
  type EvaluationResource,
  type newComparisonSchema,
  type newEvaluationSchema,
} from '../server/evaluation-schemas.ts';
import { type Pool, type PoolChange, poolListSchema, poolSchema } from '../server/pool-schemas.ts';
import { problemSchema } from '../server/problem.ts';
import { issuedTokenSchema, type newTokenSchema, tokenPageSchema, tokenSchema, type Token } from '../server/token-schemas.ts';

export type NewEvaluation = z.input<typeof newEvaluationSchema>;
export type NewComparison = z.input<typeof newComparisonSchema>;

const eventSchema = z.object({ sequence: z.int(), type: z.string(), at: z.string(), data: z.unknown() });
export type FollowedEvent = z.infer<typeof eventSchema>;

export interface ClientOptions {
  /** What the server knows the caller by; none for a server that takes none. */
  readonly token?: string | undefined;
  /** Before the first retry; doubled for each further one. */
  readonly retryMilliseconds?: number;
}

export interface SubmitOptions {
  /** Sent again with the same key, it is the same request. */
  readonly idempotencyKey: string;
  readonly signal?: AbortSignal | undefined;
}

/** Long enough for a server to start again. */
const RETRIES = 6;
const FIRST_PAUSE_MILLISECONDS = 250;
const FOLLOW_AGAIN_MILLISECONDS = 1000;
const ANSWER_MILLISECONDS = 120_000;
/** A connection that broke without a word is noticed in that time. */
const CONNECTION_MILLISECONDS = 120_000;

/**
 * Speaks to `muster serve`. What is safe to send twice is sent again when a server cannot be reached or asks for it.
 *
 * @throws InputError what the server refuses, with its code; InfrastructureError when it cannot be reached or cannot serve. Each method.
 */
export class MusterClient {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #retryMilliseconds: number;
  readonly #access: Readonly<Record<string, string>>;

  /** @param url `http://127.0.0.1:7677` */
  constructor(url: string, clock: Clock, { token, retryMilliseconds = FIRST_PAUSE_MILLISECONDS }: ClientOptions = {}) {
    this.#retryMilliseconds = retryMilliseconds;
    this.#access = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#url = url.replace(/\/+$/, '');
    this.#clock = clock;
  }

  submit(body: NewEvaluation, options: SubmitOptions): Promise<EvaluationResource> {
    return this.#submit('/v1/evaluations', body, options);
  }

  compare(body: NewComparison, options: SubmitOptions): Promise<EvaluationResource> {
    return this.#submit('/v1/comparisons', body, options);
  }

  find(id: string, signal?: AbortSignal): Promise<EvaluationResource> {
    return this.#ask(evaluationSchema, 'GET', `/v1/evaluations/${encodeURIComponent(id)}`, { signal });
  }

  /** Latest first; the next page is asked for when the last one has been taken. */
  async *list(filter: Readonly<Record<string, string>>, signal?: AbortSignal): AsyncGenerator<EvaluationItem> {
    let after: string | null = null;
    do {
      const query = new URLSearchParams({ ...filter, ...(after === null ? {} : { after }) });
      const page: z.infer<typeof evaluationPageSchema> = await this.#ask(
        evaluationPageSchema,
        'GET',
        `/v1/evaluations?${query.toString()}`,
        {
          signal,
        },
      );
      yield* page.items;
      after = page.next;
    } while (after !== null);
  }

  cancel(id: string, signal?: AbortSignal): Promise<EvaluationResource> {
    return this.#ask(evaluationSchema, 'DELETE', `/v1/evaluations/${encodeURIComponent(id)}`, { signal });
  }

  async pools(signal?: AbortSignal): Promise<readonly Pool[]> {
    return (await this.#ask(poolListSchema, 'GET', '/v1/pools', { signal })).items;
  }

  changePool(name: string, change: PoolChange, signal?: AbortSignal): Promise<Pool> {
    return this.#ask(poolSchema, 'PATCH', `/v1/pools/${encodeURIComponent(name)}`, { body: change, signal });
  }

  tokens(after?: string, signal?: AbortSignal): Promise<z.infer<typeof tokenPageSchema>> {
    const query = new URLSearchParams({ limit: '200', ...(after === undefined ? {} : { after }) });
    return this.#ask(tokenPageSchema, 'GET', `/v1/tokens?${query.toString()}`, { signal });
  }

  /** Not sent again when no answer comes: there would be two. */
  createToken(body: z.input<typeof newTokenSchema>, signal?: AbortSignal): Promise<z.infer<typeof issuedTokenSchema>> {
    return this.#ask(issuedTokenSchema, 'POST', '/v1/tokens', { body, signal, once: true });
  }

  revokeToken(id: string, signal?: AbortSignal): Promise<Token> {
    return this.#ask(tokenSchema, 'DELETE', `/v1/tokens/${encodeURIComponent(id)}`, { signal });
  }

  /** All events until it is over, each once, whatever becomes of the connection meanwhile. */
  async *follow(id: string, signal: AbortSignal): AsyncGenerator<FollowedEvent> {
    let last = 0;
    while (!signal.aborted) {
      using connection = new Deadline(this.#clock, CONNECTION_MILLISECONDS, () => new DOMException('asked again', 'AbortError'), signal);
      try {
        const headers = { 'last-event-id': String(last) };
        const path = `/v1/evaluations/${encodeURIComponent(id)}/events`;
        const answer = await this.#fetch('GET', path, { headers, signal: connection.signal });
        if (answer.status === 204) return;
        for await (const event of eventsOf(answer)) {
          last = event.sequence;
          yield event;
        }
      } catch (error) {
        // The connection broke: what comes next is asked for again.
        if (signal.aborted || error instanceof MusterError) throw error;
      }
      await sleep(this.#clock, FOLLOW_AGAIN_MILLISECONDS, signal);
    }
  }

  #submit(path: string, body: object, { idempotencyKey, signal }: SubmitOptions): Promise<EvaluationResource> {
    return this.#ask(evaluationSchema, 'POST', path, { body, headers: { 'idempotency-key': idempotencyKey }, signal });
  }

  async #ask<Schema extends z.ZodType>(schema: Schema, method: string, path: string, sent: Sent): Promise<z.infer<Schema>> {
    const late = (): Error => new InfrastructureError('server.late', `${this.#url} did not answer within ${ANSWER_MILLISECONDS / 1000} s`);
    using deadline = new Deadline(this.#clock, ANSWER_MILLISECONDS, late, sent.signal);
    const answer = await this.#fetch(method, path, { ...sent, signal: deadline.signal });
    const parsed = schema.safeParse(await answer.json());
    if (parsed.success) return parsed.data;
    const what = `${method} ${path}`;
    throw new InfrastructureError('server.answer', `${this.#url} answered ${what} with something else: ${z.prettifyError(parsed.error)}`);
  }

  #fetch(method: string, path: string, sent: Sent): Promise<Response> {
    return pRetry(() => this.#fetchOnce(method, path, sent), {
      retries: sent.once === true ? 0 : RETRIES,
      minTimeout: this.#retryMilliseconds,
      ...(sent.signal ? { signal: sent.signal } : {}),
      shouldRetry: ({ error }) => error instanceof InfrastructureError,
    });
  }

  async #fetchOnce(method: string, path: string, { body, headers, signal }: Sent): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(`${this.#url}${path}`, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...this.#access, ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal ? { signal } : {}),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      const cause = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
      throw new InfrastructureError('server.unreachable', `${this.#url} cannot be reached: ${cause}; is "muster serve" running there?`, {
        cause: error,
      });
    }
    if (!answer.ok) throw await errorOf(answer);
    return answer;
  }
}

interface Sent {
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Whether it must not be sent twice. */
  readonly once?: true;
}

/** @throws InfrastructureError when what comes is no event of Muster's. */
async function* eventsOf({ body }: Response): AsyncGenerator<FollowedEvent> {
  if (!body) return;
  for await (const { data } of body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
    const parsed = eventSchema.safeParse(JSON.parse(data));
    if (!parsed.success) throw new InfrastructureError('server.answer', `an event was not one: ${z.prettifyError(parsed.error)}`);
    yield parsed.data;
  }
}

async function errorOf(answer: Response): Promise<MusterError> {
  const text = await answer.text();
  const problem = problemSchema.safeParse(parsedJson(text)).data;
  const code = problem?.code ?? 'server.answer';
  const message = problem?.detail ?? `the server answered with ${answer.status}: ${text.slice(0, 200)}`;
  // What a quota refuses without saying until when, time alone does not mend.
  const passes = answer.status >= 500 || (answer.status === 429 && answer.headers.has('retry-after'));
  return passes ? new InfrastructureError(code, message) : new InputError(code, message);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
