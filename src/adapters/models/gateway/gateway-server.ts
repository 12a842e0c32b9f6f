import { createHash, randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Gateway, GatewayEntrance, ProgramSession } from '../../../agents/acting/program/gateway.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { getMessage } from '../../../kernel/errors.ts';
import { formatExactBytes } from '../../../kernel/text/figures.ts';
import { CHAT } from './chat-dialect.ts';
import { type Dialect, type Problem, toProblem } from './dialect.ts';
import { EventStream } from './event-stream.ts';
import { MESSAGES } from './messages-dialect.ts';
import { RESPONSES } from './responses-dialect.ts';

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['/v1/chat/completions', CHAT],
  ['/v1/responses', RESPONSES],
  ['/v1/messages', MESSAGES],
]);
const KEY_BYTES = 24;

interface OpenSession {
  readonly session: ProgramSession;
  readonly past: Map<string, readonly object[]>;
  readonly connections: Set<Duplex>;
}

/**
 * Serves programs over HTTP as providers of models do. It does not listen: connections are handed to it, those of a program by the entrance that was
 * opened for it. The model's server is asked for whole answers, which are streamed to programs that want streams: so a broken answer is requested
 * again before a program has seen any of it.
 */
export class GatewayServer implements Gateway, Disposable {
  readonly #clock: Clock;
  readonly #server: http.Server;
  /** Sessions by the digests of their keys. */
  readonly #sessions = new Map<string, OpenSession>();

  constructor(clock: Clock) {
    this.#clock = clock;
    // A program may pause for any time between two requests of one connection.
    this.#server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => void this.#answer(request, response));
  }

  open(session: ProgramSession): GatewayEntrance {
    const key = `sk-muster-${randomBytes(KEY_BYTES).toString('base64url')}`;
    const opened: OpenSession = { session, past: new Map(), connections: new Set() };
    this.#sessions.set(computeDigest(key), opened);
    return {
      key,
      connect: (connection) => {
        opened.connections.add(connection);
        connection.once('close', () => opened.connections.delete(connection));
        this.#server.emit('connection', connection);
      },
      [Symbol.dispose]: () => {
        this.#sessions.delete(computeDigest(key));
        for (const connection of opened.connections) connection.destroy();
      },
    };
  }

  [Symbol.dispose](): void {
    for (const { connections } of this.#sessions.values()) for (const connection of connections) connection.destroy();
    this.#sessions.clear();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = new AbortController();
    response.once('close', () => given.abort(new DOMException('the program has hung up', 'AbortError')));
    response.on('error', () => undefined);
    const { pathname } = new URL(request.url ?? '/', 'http://gateway');
    const dialect = DIALECTS.get(pathname) ?? CHAT;
    try {
      const opened = this.#sessions.get(computeDigest(readKey(request)));
      if (!opened) return refuse(response, dialect, UNKNOWN_KEY);
      if (pathname === '/v1/models' && request.method === 'GET') return send(response, 200, listModels(opened.session));
      if (!DIALECTS.has(pathname) || request.method !== 'POST') return refuse(response, dialect, describeUnknown(request.method, pathname));
      const read = await readBody(request);
      if (read.kind === 'misfit') return refuse(response, dialect, read.problem);
      await this.#relay(read.value, dialect, opened, response, given.signal);
    } catch (error) {
      if (given.signal.aborted) return;
      refuse(response, dialect, { status: 500, type: 'api_error', code: 'internal_error', detail: getMessage(error) });
    }
  }

  async #relay(
    value: unknown,
    dialect: Dialect,
    { session, past }: OpenSession,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const created = Math.floor(this.#clock.date().getTime() / 1000);
    const read = dialect.read(value, { id: randomBytes(12).toString('hex'), created, past });
    if (read.kind === 'misfit')
      return refuse(response, dialect, { status: 400, type: 'invalid_request_error', code: 'invalid_request', detail: read.detail });
    using events = read.isStreamed ? new EventStream(response, this.#clock) : undefined;
    const answered = await session.complete(read.body, signal);
    if (answered.kind !== 'message') {
      const problem = toProblem(answered);
      return events?.isBegun === true
        ? await events.end([{ event: 'error', data: dialect.error(problem) }], signal)
        : refuse(response, dialect, problem);
    }
    if (events) await events.end(read.write.events(answered), signal);
    else send(response, 200, read.write.document(answered));
  }
}

const UNKNOWN_KEY: Problem = {
  status: 401,
  type: 'authentication_error',
  code: 'invalid_api_key',
  detail: 'the key belongs to no open session; a program finds its own in OPENAI_API_KEY and ANTHROPIC_API_KEY',
};

function describeUnknown(method: string | undefined, pathname: string): Problem {
  const detail = `there is no ${method} ${pathname.slice(0, 100)}; expected POST ${[...DIALECTS.keys()].join(', ')} or GET /v1/models`;
  return { status: 404, type: 'not_found_error', code: 'not_found', detail };
}

function listModels({ model }: ProgramSession): object {
  return { object: 'list', data: [{ id: model, object: 'model', created: 0, owned_by: 'muster' }] };
}

function readKey({ headers }: IncomingMessage): string {
  const own = headers['x-api-key'];
  return typeof own === 'string' ? own : (headers.authorization ?? '').replace(/^Bearer /i, '');
}

function computeDigest(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** The clients of providers repeat by themselves what may succeed later: the limits of an agent do not pass, and Muster has been patient already. */
function refuse(response: ServerResponse, dialect: Dialect, problem: Problem): void {
  if (response.headersSent) return void response.destroy();
  send(response, problem.status, dialect.error(problem), { 'x-should-retry': problem.status === 429 ? 'true' : 'false' });
}

function send(response: ServerResponse, status: number, document: object, headers: Readonly<Record<string, string>> = {}): void {
  const text = JSON.stringify(document);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers }).end(text);
}

/** A conversation of a million tokens has some megabytes. */
const MOST_BYTES = 32 * 2 ** 20;

type ReadBody = { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'misfit'; readonly problem: Problem };

/** @throws when the connection breaks off. */
async function readBody(request: IncomingMessage): Promise<ReadBody> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    const data = Buffer.from(piece);
    bytes += data.length;
    // The rest is read and dropped: the program sees the reason only after it has sent everything.
    if (bytes <= MOST_BYTES) pieces.push(data);
  }
  if (bytes > MOST_BYTES)
    return createMisfit(413, `the request has ${formatExactBytes(bytes)}; expected at most ${formatExactBytes(MOST_BYTES)}`);
  try {
    return { kind: 'json', value: JSON.parse(Buffer.concat(pieces).toString('utf8')) };
  } catch {
    return createMisfit(400, 'the request is no JSON');
  }
}

function createMisfit(status: number, detail: string): ReadBody {
  return { kind: 'misfit', problem: { status, type: 'invalid_request_error', code: 'invalid_request', detail } };
}
