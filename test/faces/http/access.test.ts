import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { NEEDS } from '../../../src/service/access/permissions.ts';
import { TokenService } from '../../../src/service/access/token-service.ts';
import type { Role } from '../../../src/evaluation-store/tokens.ts';
import { addFigureRoutes } from '../../../src/faces/http/figures.ts';
import { addGrantRoutes } from '../../../src/faces/http/routes/grant-routes.ts';
import { identifyByToken } from '../../../src/faces/http/requests/identify.ts';
import { addLiveRoutes } from '../../../src/faces/http/routes/live-routes.ts';
import { addPoolRoutes } from '../../../src/faces/http/routes/pool-routes.ts';
import { addSuiteRoutes } from '../../../src/faces/http/routes/suite-routes.ts';
import { addAuditRoute, addQuotaRoute, addTokenRoutes } from '../../../src/faces/http/routes/token-routes.ts';
import { addPageRoutes } from '../../../src/faces/page/page-routes.ts';
import { GrantService } from '../../../src/service/checkpoints/grant-service.ts';
import { PoolService } from '../../../src/service/upkeep/pool-service.ts';
import { PAPER_ARENA, PAPER_ROLLOUTS } from '../../support/paper-arena.ts';
import { ServerFixture, type Answer } from '../../support/server-fixture.ts';
import { PAPER_LIBRARY, ServiceFixture } from '../../support/service-fixture.ts';
import { UploadFixture } from '../../support/upload-fixture.ts';

const ASKED = { suite: '50-episodes', checkpoint: { uri: '/late' } };
const idSchema = z.looseObject({ id: z.string() });
const DAY = 86_400_000;

const NO_POOLS = {
  templates: ['local'],
  getProvider: () => 'paper',
  getSize: () => ({ min: 0, max: 1, warm: 0 }),
  resize: () => undefined,
  getState: () => undefined,
  readUsage: async () => new Map(),
};

/** A server that takes tokens, with all the routes that there are but those of checkpoints. */
function guarded(requestsPerMinute?: number): Promise<ServerFixture> {
  return ServerFixture.open({}, ({ store, clock }) => ({
    identify: identifyByToken(store.tokens, clock),
    requestsPerMinute,
    more: [
      (app) => addPoolRoutes(app, new PoolService(NO_POOLS, store.audit, clock)),
      (app) => addFigureRoutes(app, new Registry()),
      (app) => addTokenRoutes(app, (principal) => new TokenService(store, clock, principal)),
      (app) => addAuditRoute(app, store.audit),
    ],
  }));
}

async function* never(): AsyncGenerator<never> {}

/** Headers of a token that was made now. */
async function as({ fixture }: ServerFixture, role: Role, principal: string = role, lifetimeMs?: number): Promise<Record<string, string>> {
  const { text } = await new TokenService(fixture.store, fixture.clock, 'test').issue({ principal, role, lifetimeMs });
  return { authorization: `Bearer ${text}` };
}

function refusal(status: number, code: string): object {
  return { status, json: { status, code, detail: expect.stringMatching(/./) } };
}

describe('a server that takes tokens', () => {
  it('requires one, except for what is public', async () => {
    await using server = await guarded();
    const answer = await server.send('GET', '/v1/evaluations');
    expect(answer).toMatchObject(refusal(401, 'access.missing'));
    expect(answer.headers).toMatchObject({
      'www-authenticate': expect.stringMatching(
        /^Bearer realm="muster", code="access\.missing", error_description="a token is needed: set MUSTER_TOKEN [^"\\]*"$/,
      ),
      'content-type': expect.stringContaining('problem'),
    });
    for (const url of ['/healthz', '/readyz', '/openapi.json', '/docs/']) expect((await server.send('GET', url)).status).toBe(200);
    expect((await server.send('GET', '/metrics')).status).toBe(401);
  });

  it('says what is wrong with a token, and reads no body before it is known who sends it', async () => {
    await using server = await guarded();
    const wrong = { authorization: `Bearer muster_0123456789abcdef_${'x'.repeat(43)}` };
    expect(await server.send('POST', '/v1/evaluations', { body: '{', headers: wrong })).toMatchObject(refusal(401, 'access.unknown'));
    const basic = { authorization: 'Basic bXVzdGVy' };
    expect(await server.send('GET', '/v1/evaluations', { headers: basic })).toMatchObject(refusal(401, 'access.malformed'));
  });

  it('refuses a token from the moment that it is revoked or has expired', async () => {
    await using server = await guarded();
    const operator = await as(server, 'operator');
    const made = await server.send('POST', '/v1/tokens', {
      headers: operator,
      body: { principal: 'pipeline', role: 'submitter', lifetimeSeconds: 3600 },
    });
    expect(made).toMatchObject({ status: 201, json: { principal: 'pipeline', role: 'submitter', revokedAt: null } });
    const { id, token } = z.looseObject({ id: z.string(), token: z.string() }).parse(made.json);
    const headers = { authorization: `Bearer ${token}` };
    expect((await server.send('GET', '/v1/evaluations', { headers })).status).toBe(200);
    expect((await server.send('DELETE', `/v1/tokens/${id}`, { headers: operator })).status).toBe(200);
    expect(await server.send('GET', '/v1/evaluations', { headers })).toMatchObject(refusal(401, 'access.revoked'));
    const brief = await as(server, 'viewer', 'brief', DAY);
    await server.fixture.clock.advance(DAY);
    expect(await server.send('GET', '/v1/evaluations', { headers: brief })).toMatchObject(refusal(401, 'access.expired'));
    const audit = await server.send('GET', '/v1/audit', { headers: operator });
    expect(audit.json).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ action: 'token.revoke', target: id, principal: 'operator' })]),
    });
    expect((await server.send('GET', '/v1/tokens', { headers: operator })).text).not.toContain(token.slice(-43));
  });

  it('lets a viewer only read', async () => {
    await using server = await guarded();
    const submitter = await as(server, 'submitter');
    const { id } = idSchema.parse((await server.send('POST', '/v1/evaluations', { body: ASKED, headers: submitter })).json);
    const headers = await as(server, 'viewer');
    expect((await server.send('GET', `/v1/evaluations/${id}`, { headers })).json).toMatchObject({ principal: 'submitter' });
    const refused = [
      await server.send('POST', '/v1/evaluations', { body: ASKED, headers }),
      await server.send('DELETE', `/v1/evaluations/${id}`, { headers }),
      await server.send('PATCH', '/v1/pools/local', { body: { max: 2 }, headers }),
      await server.send('GET', '/v1/audit', { headers }),
    ];
    for (const answer of refused) expect(answer).toMatchObject(refusal(403, 'access.forbidden'));
    expect(refused[0]?.text).toContain('needs the role submitter');
  });

  it('lets a submitter cancel its own evaluations, and an operator all', async () => {
    await using server = await guarded();
    const [mine, theirs, operator] = [
      await as(server, 'submitter', 'mine'),
      await as(server, 'submitter', 'theirs'),
      await as(server, 'operator'),
    ];
    const submitted = async (headers: Record<string, string>): Promise<string> =>
      idSchema.parse((await server.send('POST', '/v1/evaluations', { body: ASKED, headers })).json).id;
    const [own, other] = [await submitted(mine), await submitted(theirs)];
    expect(await server.send('DELETE', `/v1/evaluations/${other}`, { headers: mine })).toMatchObject(refusal(403, 'access.forbidden'));
    expect(
      (await server.fixture.find((await server.service.list({}, { limit: 9 })).items[0]?.id ?? server.fixture.newId())).cancelRequestedAt,
    ).toBeUndefined();
    expect((await server.send('DELETE', `/v1/evaluations/${own}`, { headers: mine })).status).toBeLessThan(300);
    expect((await server.send('DELETE', `/v1/evaluations/${other}`, { headers: operator })).status).toBeLessThan(300);
  });

  it('says in its OpenAPI document which calls need a token, and of which role', async () => {
    await using server = await guarded();
    const { json } = await server.send('GET', '/openapi.json');
    expect(json).toMatchObject({
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      paths: {
        '/healthz': { get: { security: [] } },
        '/v1/evaluations/{id}': { delete: { security: [{ bearer: [] }], description: expect.stringContaining('submitter for one') } },
        '/v1/tokens': { post: { security: [{ bearer: [] }], description: expect.stringContaining('Role: operator') } },
      },
    });
  });

  it('has a route for every call of its table, and cannot be given another', async () => {
    const seen = new Set<string>();
    await using uploads = await UploadFixture.open();
    await using _server = await ServerFixture.open({}, ({ store, use, clock }) => ({
      checkpoints: uploads.checkpointService({ store, use }),
      arena: PAPER_ARENA,
      rollouts: PAPER_ROLLOUTS,
      more: [
        (app) => addSuiteRoutes(app, PAPER_LIBRARY),
        (app) => addGrantRoutes(app, new GrantService({ rights: store.rights, use, audit: store.audit })),
        (app) => addPoolRoutes(app, new PoolService(NO_POOLS, store.audit, clock)),
        (app) => addFigureRoutes(app, new Registry()),
        (app) => addTokenRoutes(app, (principal) => new TokenService(store, clock, principal)),
        (app) => addAuditRoute(app, store.audit),
        (app) => addQuotaRoute(app, async () => []),
        (app, room) =>
          addLiveRoutes(app, {
            service: { followAll: () => never() },
            pools: new PoolService(NO_POOLS, store.audit, clock),
            use,
            clock,
            room,
          }),
        addPageRoutes,
        (app) => {
          for (const [call] of Object.entries(NEEDS)) {
            const [method = '', path = ''] = call.split(' ');
            const url = path === '/docs' ? '/docs/' : path.replace(/\{(\w+)\}/g, ':$1');
            if (app.hasRoute({ method, url })) seen.add(call);
          }
        },
      ],
    }));
    expect([...seen]).toEqual(Object.keys(NEEDS));
    const opening = ServerFixture.open({}, { more: [(app) => app.get('/v1/secrets', () => 'all of them')] });
    await expect(opening).rejects.toThrow('GET /v1/secrets is not in the table of calls');
  });
});

describe('a server without access control', () => {
  it.each([
    ['another machine', { remoteAddress: '192.0.2.7' }, {}],
    ['a name that was made to lead here', {}, { host: 'rebound.example.com' }],
    ['a page of another site', {}, { origin: 'https://example.com' }],
    ['a proxy', {}, { 'x-forwarded-for': '192.0.2.7' }],
  ])('takes nothing from %s', async (_what, place, headers) => {
    await using server = await ServerFixture.open();
    const { statusCode, body } = await server.app.inject({ method: 'GET', url: '/v1/evaluations', headers, ...place });
    expect([statusCode, body]).toEqual([403, expect.stringContaining('access.not-local')]);
    expect((await server.send('GET', '/v1/evaluations')).status).toBe(200);
  });
});

describe('many requests', () => {
  it('of one principal are answered up to the limit, and those of others are not affected', async () => {
    await using server = await guarded(3);
    const [eager, other] = [await as(server, 'viewer', 'eager'), await as(server, 'viewer', 'other')];
    const ask = (headers: Record<string, string>): Promise<Answer> => server.send('GET', '/v1/evaluations', { headers });
    for (let i = 0; i < 3; i += 1) expect((await ask(eager)).status).toBe(200);
    const refused = await ask(eager);
    expect(refused).toMatchObject(refusal(429, 'request.too-many'));
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask(other)).status).toBe(200);
  });

  it('without a token are counted by address', async () => {
    await using server = await guarded(3);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await server.send('GET', '/v1/evaluations')).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect((await server.send('GET', '/v2')).status).toBe(429);
  });
});

describe('a quota', () => {
  it('of waiting evaluations refuses one more, however they come, and accepted ones are found again', async () => {
    const fixture = new ServiceFixture();
    fixture.quotas.set('local', { waitingEvaluations: 2 });
    await using server = await ServerFixture.open({ slots: 0 }, {}, fixture);
    const submit = (key: string): Promise<Answer> =>
      server.send('POST', '/v1/evaluations', { body: ASKED, headers: { 'idempotency-key': key } });
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map(submit));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 202, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toMatchObject({
      json: { code: 'quota.waiting-evaluations', title: 'Too Many Requests' },
      headers: { 'retry-after': '30' },
    });
    const accepted = ['a', 'b', 'c', 'd'].find((_, i) => answers[i]?.status === 202) ?? '';
    expect((await submit(accepted)).status).toBe(202);
  });

  it('of episodes a day refuses until midnight', async () => {
    const fixture = new ServiceFixture();
    fixture.quotas.set('local', { episodesPerDay: 5 });
    await using server = await ServerFixture.open({}, {}, fixture);
    const submit = (): Promise<Answer> => server.send('POST', '/v1/evaluations', { body: { ...ASKED, suite: '5-episodes' } });
    expect((await submit()).status).toBe(202);
    await fixture.clock.advance(2000);
    const refused = await submit();
    expect(refused).toMatchObject(refusal(429, 'quota.episodes-per-day'));
    await fixture.clock.advance(Number(refused.headers['retry-after']) * 1000);
    expect((await submit()).status).toBe(202);
  });
});
