import { once } from 'node:events';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { mintBearerToken } from '../../../src/service/access/bearer-token.ts';
import { LOCAL_CALLER } from '../../../src/service/access/caller.ts';
import { TokenService } from '../../../src/service/access/token-service.ts';
import type { Tokens } from '../../../src/evaluation-store/tokens.ts';
import { identifyByToken } from '../../../src/faces/http/requests/identify.ts';
import { eventually } from '../../support/eventually.ts';
import { ServerFixture, type Answer } from '../../support/server-fixture.ts';
import { EPISODE_MS, type ServiceFixture } from '../../support/service-fixture.ts';

const MINUTE = 60_000;
const ASKED = { suite: '50-episodes', checkpoint: { uri: '/late' } };
const idSchema = z.looseObject({ id: z.string() });

/** Counts what is looked up. */
class CountedTokens implements Pick<Tokens, 'find'> {
  lookUps = 0;
  isDown = false;
  readonly #tokens: Pick<Tokens, 'find'>;

  constructor(tokens: Pick<Tokens, 'find'>) {
    this.#tokens = tokens;
  }

  async find(...asked: Parameters<Tokens['find']>): ReturnType<Tokens['find']> {
    this.lookUps += 1;
    if (this.isDown) throw new Error('the store is down');
    return this.#tokens.find(...asked);
  }
}

class TokenFixture implements AsyncDisposable {
  readonly tokens: CountedTokens;
  readonly server: ServerFixture;

  private constructor(tokens: CountedTokens, server: ServerFixture) {
    this.tokens = tokens;
    this.server = server;
  }

  /** @param failuresPerMinute of one address. */
  static async open(failuresPerMinute: number): Promise<TokenFixture> {
    let tokens: CountedTokens | undefined;
    const server = await ServerFixture.open({}, ({ store, clock }: ServiceFixture) => {
      tokens = new CountedTokens(store.tokens);
      return { identify: identifyByToken(tokens, clock, failuresPerMinute) };
    });
    if (!tokens) throw new Error('the server asked for no options');
    return new TokenFixture(tokens, server);
  }

  async newToken(): Promise<{ readonly id: Parameters<Tokens['revoke']>[0]; readonly text: string }> {
    const { store, clock } = this.server.fixture;
    const { token, text } = await new TokenService(store, clock, 'test').issue({
      principal: 'pipeline',
      role: 'viewer',
      lifetimeMs: undefined,
    });
    return { id: token.id, text };
  }

  async ask(
    token: string,
    remoteAddress = '192.0.2.1',
  ): Promise<{ readonly status: number; readonly code: unknown; readonly retryAfter: unknown }> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await this.server.app.inject({ method: 'GET', url: '/v1/evaluations', headers, remoteAddress });
    const { code } = z.looseObject({ code: z.string().optional() }).parse(answer.json());
    return { status: answer.statusCode, code, retryAfter: answer.headers['retry-after'] };
  }

  async guess(times: number, remoteAddress?: string): Promise<void> {
    await Promise.all(Array.from({ length: times }, () => this.ask(mintBearerToken().text, remoteAddress)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

describe('a caller that guesses tokens', () => {
  it('has a bounded number of them looked up within a minute, however many come at once', async () => {
    await using fixture = await TokenFixture.open(5);
    await fixture.guess(40);
    expect(fixture.tokens.lookUps).toBe(5);
    expect(await fixture.ask(mintBearerToken().text)).toEqual({ status: 429, code: 'access.too-many', retryAfter: '60' });
    await fixture.server.fixture.clock.advance(MINUTE);
    expect(await fixture.ask(mintBearerToken().text)).toMatchObject({ status: 401, code: 'access.unknown' });
    expect(fixture.tokens.lookUps).toBe(6);
  });

  it('does not keep out callers at other addresses', async () => {
    await using fixture = await TokenFixture.open(5);
    await fixture.guess(40);
    const { text } = await fixture.newToken();
    expect((await fixture.ask(text, '192.0.2.2')).status).toBe(200);
  });

  it('does not keep out a caller at the same address whose token was good before', async () => {
    await using fixture = await TokenFixture.open(5);
    const { id, text } = await fixture.newToken();
    expect((await fixture.ask(text)).status).toBe(200);
    await fixture.guess(40);
    expect((await fixture.ask(text)).status).toBe(200);
    expect((await fixture.ask((await fixture.newToken()).text)).status).toBe(429);
    // It is looked up all the same.
    await fixture.server.fixture.store.tokens.revoke(id);
    expect(await fixture.ask(text)).toMatchObject({ status: 401, code: 'access.revoked' });
    expect(await fixture.ask(text)).toMatchObject({ status: 429, code: 'access.too-many' });
  });

  it('is distinguished from callers with good tokens, however many these are', async () => {
    await using fixture = await TokenFixture.open(2);
    for (let i = 0; i < 5; i += 1) expect((await fixture.ask((await fixture.newToken()).text)).status).toBe(200);
  });

  it('does not include a caller during a failure of the store', async () => {
    await using fixture = await TokenFixture.open(2);
    const { text } = await fixture.newToken();
    fixture.tokens.isDown = true;
    for (let i = 0; i < 5; i += 1) expect((await fixture.ask(text)).status).toBe(500);
    fixture.tokens.isDown = false;
    expect((await fixture.ask(text)).status).toBe(200);
  });
});

describe('streams', () => {
  async function accepted(server: ServerFixture): Promise<string> {
    return idSchema.parse((await server.send('POST', '/v1/evaluations', { body: ASKED })).json).id;
  }

  /** Resolves once it is over. */
  function followed(server: ServerFixture, id: string): Promise<Answer> {
    return server.send('GET', `/v1/evaluations/${id}/events`);
  }

  it('of one principal are bounded, and make room when they end', async () => {
    await using server = await ServerFixture.open({}, { streams: { ofOne: 2, ofAll: 10 } });
    const id = await accepted(server);
    const open = [followed(server, id), followed(server, id)];
    await server.fixture.clock.advance(1);
    const refused = await followed(server, id);
    expect(refused).toMatchObject({ status: 429, json: { code: 'stream.too-many' }, headers: { 'retry-after': '5' } });
    expect((await server.send('GET', `/v1/evaluations/${id}/episodes`)).status).toBe(429);
    await server.fixture.clock.advance(60 * EPISODE_MS);
    for (const { status } of await Promise.all(open)) expect(status).toBe(200);
    for (let i = 0; i < 5; i += 1) expect((await followed(server, id)).status).toBe(200);
  });

  it('of all principals together are bounded', async () => {
    await using server = await ServerFixture.open({}, { streams: { ofOne: 10, ofAll: 1 } });
    const id = await accepted(server);
    const open = followed(server, id);
    await server.fixture.clock.advance(1);
    expect(await followed(server, id)).toMatchObject({
      status: 503,
      json: { code: 'stream.busy' },
      headers: { 'retry-after': '5' },
    });
    await server.fixture.clock.advance(60 * EPISODE_MS);
    expect((await open).status).toBe(200);
  });

  it('that are refused for another reason do not count', async () => {
    await using server = await ServerFixture.open({}, { streams: { ofOne: 1, ofAll: 1 } });
    const id = await accepted(server);
    for (let i = 0; i < 3; i += 1) expect((await server.send('GET', `/v1/evaluations/${id}/episodes?arm=7`)).status).toBe(404);
    await server.fixture.clock.advance(60 * EPISODE_MS);
    expect((await followed(server, id)).status).toBe(200);
  });
});

describe('room for bodies', () => {
  const MOST = 64;
  const BODY_BYTES = 65_536;
  const HEAD = `POST /v1/evaluations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;

  beforeAll(() => nock.restore());
  afterAll(() => nock.activate());

  /** No caller is identified before the gate is opened. */
  async function opened(): Promise<{ readonly server: ServerFixture; readonly port: number; readonly gate: Gate }> {
    const gate = new Gate();
    const server = await ServerFixture.open({}, { maxBodyBytes: BODY_BYTES, identify: () => gate.pass(LOCAL_CALLER) });
    const { port } = new URL(await server.app.listen({ host: '127.0.0.1', port: 0 }));
    return { server, port: Number(port), gate };
  }

  it('is released by callers that leave before they are authenticated', async () => {
    const { server, port, gate } = await opened();
    await using _server = server;
    for (let at = 0; at < MOST; at += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.write(HEAD);
      await gate.asked();
      socket.destroy();
      await once(socket, 'close');
    }
    await eventually('all of them have gone', () => connectionsOf(server).then((count) => count === 0));
    gate.open();
    expect((await server.send('POST', '/v1/evaluations', { body: '[]' })).status).toBe(400);
  });
});

/** Holds callers until it is opened. */
class Gate {
  passed = 0;
  #asked = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  async pass<Value>(value: Value): Promise<Value> {
    this.passed += 1;
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
    await this.#opened.promise;
    return value;
  }

  /** A caller has come, from now on. */
  async asked(): Promise<void> {
    await this.#asked.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}

async function connectionsOf({ app }: ServerFixture): Promise<number> {
  return promisify(app.server.getConnections.bind(app.server))();
}

describe('the body of a request', () => {
  const wrapped = (levels: number, open: string, close: string): string => `${open.repeat(levels)}1${close.repeat(levels)}`;

  it.each([
    ['lists', `{"suite":${wrapped(64, '[', ']')}}`, 'more than 64 nested lists and objects'],
    ['objects', `{"suite":${wrapped(5000, '{"a":', '}')}}`, 'more than 64 nested lists and objects'],
    ['values', `[${'1,'.repeat(200_000)}1]`, 'more than 200000 values'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'body: '],
  ])('of too many %s is refused before it is parsed', async (_, body, expected) => {
    await using server = await ServerFixture.open({}, { maxBodyBytes: 2 ** 20 });
    const parse = vi.spyOn(JSON, 'parse');
    const sent = { body: Buffer.from(body), headers: { 'content-type': 'application/json' } };
    const answer = await server.send('POST', '/v1/evaluations', sent);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(expected)]);
    expect(parse.mock.calls.filter(([text]) => text === String(body))).toEqual([]);
    parse.mockRestore();
  });

  it('of the most allowed levels is validated as usual, and one that would poison a prototype is refused', async () => {
    await using server = await ServerFixture.open();
    const deepest = await server.send('POST', '/v1/evaluations', { body: `{"suite":${wrapped(63, '[', ']')}}` });
    expect([deepest.status, deepest.text]).toEqual([400, expect.stringContaining('body.suite')]);
    const poisoned = await server.send('POST', '/v1/evaluations', { body: '{"__proto__":{"suite":"x"}}' });
    expect([poisoned.status, poisoned.text]).toEqual([400, expect.stringContaining('request.body')]);
  });
});
