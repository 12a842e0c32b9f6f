import { describe, expect, it } from 'vitest';
import type { StoredEvaluation } from '../../../src/evaluation-store/evaluation-record.ts';
import type { Role } from '../../../src/evaluation-store/tokens.ts';
import { identifyByToken } from '../../../src/faces/http/requests/identify.ts';
import { TokenService } from '../../../src/service/access/token-service.ts';
import { ServerFixture } from '../../support/server-fixture.ts';
import { ServiceFixture, submission, submitted } from '../../support/service-fixture.ts';

const ORIGIN = { host: 'muster.example.com', origin: 'https://muster.example.com' };

function guarded(): Promise<ServerFixture> {
  return ServerFixture.open({}, ({ store, clock }) => ({ identify: identifyByToken(store.tokens, clock) }));
}

const tokensOf = ({ fixture }: ServerFixture): TokenService => new TokenService(fixture.store, fixture.clock, 'test');
const tokenOf = (server: ServerFixture, role: Role): ReturnType<TokenService['issue']> =>
  tokensOf(server).issue({ principal: role, role, lifetimeMs: undefined });

async function signIn(server: ServerFixture, token: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const answer = await server.send('POST', '/v1/session', { headers: { authorization: `Bearer ${token}`, ...headers } });
  expect(answer.status).toBe(200);
  return String(answer.headers['set-cookie']);
}

describe('the session of a browser', () => {
  it('is the token in a cookie that scripts cannot read and other sites do not send', async () => {
    await using server = await guarded();
    const { text } = await tokenOf(server, 'submitter');
    expect(await signIn(server, text)).toBe(`muster_session=${text}; Path=/; HttpOnly; SameSite=Strict`);
    expect(await signIn(server, text, { 'x-forwarded-proto': 'https' })).toMatch(/; Secure$/);
    const answer = await server.send('GET', '/v1/session', { headers: { cookie: `theme=dark; muster_session=${text}` } });
    expect(answer).toMatchObject({ status: 200, json: { principal: 'submitter', role: 'submitter', access: 'tokens' } });
  });

  it('does not begin with an invalid token, and is over once the token is revoked', async () => {
    await using server = await guarded();
    const wrong = `muster_0123456789abcdef_${'x'.repeat(43)}`;
    const refused = await server.send('POST', '/v1/session', { headers: { authorization: `Bearer ${wrong}` } });
    expect(refused).toMatchObject({ status: 401, json: { code: 'access.unknown' } });
    expect(refused.headers).not.toHaveProperty('set-cookie');
    const { token, text } = await tokenOf(server, 'viewer');
    const headers = { cookie: `muster_session=${text}` };
    expect((await server.send('GET', '/v1/evaluations', { headers })).status).toBe(200);
    await tokensOf(server).revoke(token.id);
    expect(await server.send('GET', '/v1/evaluations', { headers })).toMatchObject({ status: 401, json: { code: 'access.revoked' } });
  });

  it('ends with a cookie that the browser drops at once', async () => {
    await using server = await guarded();
    const answer = await server.send('DELETE', '/v1/session');
    expect([answer.status, answer.headers['set-cookie']]).toEqual([204, 'muster_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0']);
  });

  it('changes nothing for a page of another site, while a program with the header may', async () => {
    await using server = await guarded();
    const { text } = await tokenOf(server, 'submitter');
    const body = { suite: '5-episodes', checkpoint: { uri: '/late' } };
    const cookie = `muster_session=${text}`;
    const foreign = { ...ORIGIN, origin: 'https://muster.example.com.evil.example' };
    for (const headers of [
      { ...foreign, cookie },
      { host: ORIGIN.host, cookie },
      { ...ORIGIN, origin: 'null', cookie },
    ])
      expect(await server.send('POST', '/v1/evaluations', { headers, body })).toMatchObject({
        status: 403,
        json: { code: 'access.foreign-page', detail: expect.stringContaining('Authorization') },
      });
    expect((await server.send('POST', '/v1/evaluations', { headers: { ...ORIGIN, cookie }, body })).status).toBe(202);
    const authorization = `Bearer ${text}`;
    expect((await server.send('POST', '/v1/evaluations', { headers: { ...foreign, authorization }, body })).status).toBe(202);
  });
});

describe('a stream', () => {
  it('ends within fifteen seconds once its token is revoked or has expired', async () => {
    await using server = await ServerFixture.open({ slots: 1 }, ({ store, clock }) => ({ identify: identifyByToken(store.tokens, clock) }));
    const { text: submitter } = await tokenOf(server, 'submitter');
    const submit = (suite: string, uri: string): ReturnType<ServerFixture['send']> =>
      server.send('POST', '/v1/evaluations', { headers: { authorization: `Bearer ${submitter}` }, body: { suite, checkpoint: { uri } } });
    await submit('1000-episodes', '/late');
    const { headers: waiting } = await submit('5-episodes', '/other');
    const follow = (token: string): ReturnType<ServerFixture['send']> =>
      server.send('GET', `${String(waiting['location'])}/events`, { headers: { authorization: `Bearer ${token}` } });
    const { token, text: revoked } = await tokenOf(server, 'viewer');
    const { text: expiring } = await tokensOf(server).issue({ principal: 'viewer', role: 'viewer', lifetimeMs: 20_000 });
    const streams = [follow(revoked), follow(expiring)];
    await tokensOf(server).revoke(token.id);
    await server.fixture.clock.advance(31_000);
    const heartbeats = (await Promise.all(streams)).map(({ text }) => text.match(/^: still here$/gm)?.length ?? 0);
    expect(heartbeats).toEqual([0, 1]);
  });
});

describe('the live stream', () => {
  it('has the changes of all evaluations, from acceptance to end', async () => {
    const fixture = new ServiceFixture();
    const service = fixture.service();
    service.open();
    const gone = new AbortController();
    const changes = service.followAll(gone.signal)[Symbol.asyncIterator]();
    const first = changes.next();
    const id = await submitted(service, submission(30));
    await fixture.clock.advance(600);
    expect((await first).value).toMatchObject({ evaluations: [{ id, state: 'running' }], isIncomplete: false });
    const episodes: number[] = [];
    let ended: unknown;
    for (let tick = 0; tick < 10 && ended === undefined; tick += 1) {
      const next = changes.next();
      await fixture.clock.advance(600);
      const { value } = await next;
      ended = value?.evaluations.find((row: StoredEvaluation) => row.state === 'finished');
      for (const figures of value?.running.values() ?? []) episodes.push(figures.episodes);
    }
    expect(ended).toMatchObject({ id, running: { episodes: 30 } });
    expect(episodes.length).toBeGreaterThan(1);
    expect(episodes).toEqual(episodes.toSorted((a, b) => a - b));
    gone.abort();
    await changes.return?.();
    await fixture.drained(service);
    expect(fixture.clock.pending).toBe(0);
  });
});
