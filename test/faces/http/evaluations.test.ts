import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseEvaluationId } from '../../../src/kernel/ids.ts';
import { EPISODE_MS } from '../../support/service-fixture.ts';
import { ServerFixture } from '../../support/server-fixture.ts';

/** The scripted library takes any name for a suite. */
const ASKED = { suite: '5-episodes', checkpoint: { uri: '/late' } };
const idSchema = z.looseObject({ id: z.string() });

async function accepted(server: ServerFixture, body: object = ASKED): Promise<string> {
  const { json, status } = await server.send('POST', '/v1/evaluations', { body });
  expect(status).toBe(202);
  return idSchema.parse(json).id;
}

describe('submitting an evaluation', () => {
  it('is accepted at once, with its id and where to follow it', async () => {
    await using server = await ServerFixture.open();
    const answer = await server.send('POST', '/v1/evaluations', {
      body: { ...ASKED, checkpoint: { uri: '/late', run: 'r', version: 7 }, priority: 3, labels: { team: 'a' } },
    });
    expect(answer.status).toBe(202);
    const { id } = idSchema.parse(answer.json);
    expect(answer.headers['location']).toBe(`/v1/evaluations/${id}`);
    expect(answer.json).toMatchObject({
      kind: 'evaluation',
      state: 'waiting',
      principal: 'local',
      run: 'r',
      version: 7,
      priority: 3,
      labels: { team: 'a' },
      summary: null,
      checkpoints: [{ part: 'subject', uri: '/late' }],
      links: { events: `/v1/evaluations/${id}/events`, episodes: `/v1/evaluations/${id}/episodes` },
    });
  });

  it('waits for an answer that comes in time', async () => {
    await using server = await ServerFixture.open();
    const answering = server.send('POST', '/v1/evaluations?wait=10', { body: ASKED });
    expect(await server.within(20 * EPISODE_MS, answering)).toMatchObject({
      status: 200,
      json: { state: 'finished', summary: { partial: false } },
    });
  });

  it('waits no longer than requested', async () => {
    await using server = await ServerFixture.open();
    const answering = server.send('POST', '/v1/evaluations?wait=1', { body: { ...ASKED, suite: '100-episodes' } });
    expect(await server.within(3000, answering)).toMatchObject({ status: 202, json: { state: 'running' } });
    expect(await server.send('POST', '/v1/evaluations?wait=61', { body: ASKED })).toMatchObject({
      status: 422,
      json: { code: 'request.wait' },
    });
  });

  it('again with the same key returns the same evaluation, and with another body is refused', async () => {
    await using server = await ServerFixture.open();
    const headers = { 'idempotency-key': 'update-7' };
    const first = await server.send('POST', '/v1/evaluations', { body: ASKED, headers });
    const again = await server.send('POST', '/v1/evaluations', { body: ASKED, headers });
    expect(idSchema.parse(again.json).id).toBe(idSchema.parse(first.json).id);
    const renamed = { ...ASKED, checkpoint: { ...ASKED.checkpoint, name: 'the same under another name' } };
    const underAName = await server.send('POST', '/v1/evaluations', { body: renamed, headers });
    expect(idSchema.parse(underAName.json).id).toBe(idSchema.parse(first.json).id);
    const other = await server.send('POST', '/v1/evaluations', { body: { ...ASKED, priority: 1 }, headers });
    expect(other).toMatchObject({ status: 409, json: { code: 'idempotency.conflict' } });
  });

  it('with a baseline makes a comparison, and so does the call for comparisons', async () => {
    await using server = await ServerFixture.open();
    const short = await server.send('POST', '/v1/evaluations', { body: { ...ASKED, baseline: { uri: '/champion' } } });
    const long = await server.send('POST', '/v1/comparisons', {
      body: { suite: '5-episodes', baseline: { uri: '/champion' }, candidates: [{ uri: '/late' }, { uri: '/later' }], margin: 1 },
    });
    expect(short.json).toMatchObject({ kind: 'comparison', checkpoints: [{ part: 'baseline' }, { part: 'candidate' }] });
    expect(long).toMatchObject({ status: 202, json: { kind: 'comparison' } });
  });

  it.each([
    ['a number for a name', { ...ASKED, suite: 7 }, 'body.suite', undefined],
    ['no checkpoint', { suite: 'a' }, 'body.checkpoint', '{ "uri": "https://…" } or { "sha256": "…" }'],
    ['a checkpoint by its path alone', { ...ASKED, checkpoint: 'late.zip' }, 'body.checkpoint', expect.stringContaining('"uri"')],
    [
      'two places for one checkpoint',
      { suite: 'a', checkpoint: { uri: '/a', sha256: 'a'.repeat(64) } },
      'body.checkpoint',
      'either "uri" or "sha256"',
    ],
    ['a field that does not exist', { ...ASKED, prioritty: 1 }, 'body.prioritty', expect.stringContaining('one of checkpoint, ')],
    ['a wrong rule', { ...ASKED, stop: { rule: 'certified', halfWidth: -1 } }, 'body.stop.halfWidth', 'a number above 0'],
    [
      'a rule that there is not',
      { ...ASKED, stop: { rule: 'fixd' } },
      'body.stop.rule',
      'one of "fixed"|"certified"|"approximate"|"asymptotic"',
    ],
    [
      'a suite with a wrong field',
      { ...ASKED, suite: { name: 'a', stop: { rule: 'fixed', episodes: 'many' } } },
      'body.suite.stop.episodes',
      'a number',
    ],
    ['a deadline that is no time', { ...ASKED, deadline: 'tomorrow' }, 'body.deadline', expect.stringContaining('such as 2026-')],
    ['a name of two lines', { ...ASKED, checkpoint: { uri: '/late', name: 'a\nb' } }, 'body.checkpoint.name', undefined],
    ['an invalid webhook', { ...ASKED, webhook: { url: 'file:///etc/passwd' } }, 'body.webhook.url', undefined],
  ])('with %s is refused, and the answer names the field, and what was expected', async (_what, body, field, expected) => {
    await using server = await ServerFixture.open();
    const answer = await server.send('POST', '/v1/evaluations', { body });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.json).toMatchObject({
      status: 400,
      code: 'request.invalid',
      errors: [{ field, detail: expect.any(String), ...(expected && { expected }) }],
    });
  });

  it('with a webhook is refused if webhooks cannot be signed', async () => {
    await using server = await ServerFixture.open({ deliversWebhooks: false });
    const body = { ...ASKED, webhook: { url: 'https://example.org/hook' } };
    expect(await server.send('POST', '/v1/evaluations', { body })).toMatchObject({ status: 422, json: { code: 'webhook.disabled' } });
  });

  it.each([
    ['this machine', 'https://127.0.0.1/hook', 'egress.address'],
    ['what tells a cloud’s machines who they are', 'https://169.254.169.254/latest', 'egress.address'],
    ['a loopback address in other clothes', 'https://[::ffff:7f00:1]/hook', 'egress.address'],
    ['every host on the way', 'http://example.org/hook', 'egress.scheme'],
  ])('with a webhook to %s is refused', async (_what, url, code) => {
    await using server = await ServerFixture.open();
    const body = { ...ASKED, webhook: { url } };
    expect(await server.send('POST', '/v1/evaluations', { body })).toMatchObject({ status: 422, json: { code } });
  });

  it('with an unknown suite is refused with the known ones', async () => {
    await using server = await ServerFixture.open();
    const answer = await server.send('POST', '/v1/evaluations', { body: { ...ASKED, suite: 'unknown' } });
    expect(answer).toMatchObject({ status: 422, json: { code: 'suite.unknown', title: 'Unprocessable Content' } });
  });

  it.each([
    ['is no JSON', '{', 400, 'request.body', 'JSON'],
    ['is empty', '', 400, 'request.body', 'empty'],
    [
      'is larger than allowed',
      JSON.stringify({ suite: 'a'.repeat(70_000) }),
      413,
      'request.too-large',
      "(64.0 KiB), the server's setting server.maxBodyBytes",
    ],
  ])('with a body that %s is refused', async (_what, body, status, code, says) => {
    await using server = await ServerFixture.open();
    const detail = expect.stringContaining(says);
    expect(await server.send('POST', '/v1/evaluations', { body })).toMatchObject({ status, json: { code, detail } });
  });

  it('with another content type is refused with the one that is expected', async () => {
    await using server = await ServerFixture.open();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await server.send('POST', '/v1/evaluations', { body: '{}', headers })).toMatchObject({
      status: 415,
      json: { code: 'request.media-type', detail: expect.stringContaining('expected application/json') },
    });
  });

  it('is refused for a while when the server is about to end', async () => {
    await using server = await ServerFixture.open();
    await server.fixture.drained(server.service);
    const answer = await server.send('POST', '/v1/evaluations', { body: ASKED });
    expect(answer).toMatchObject({ status: 503, json: { code: 'service.draining' } });
    expect(answer.headers['retry-after']).toBe('5');
  });
});

describe('looking at evaluations', () => {
  it('finds one with its answer, and says when there is none', async () => {
    await using server = await ServerFixture.open();
    const id = await accepted(server);
    await server.fixture.clock.advance(10 * EPISODE_MS);
    const { json } = await server.send('GET', `/v1/evaluations/${id}`);
    expect(json).toMatchObject({ state: 'finished', summary: { official: { episodes: 5 } } });
    expect(await server.send('GET', '/v1/evaluations/nothing')).toMatchObject({ status: 404, json: { code: 'evaluation.not-found' } });
    expect(await server.send('GET', '/v1/evaluations/No_Id')).toMatchObject({ status: 400, json: { errors: [{ field: 'params.id' }] } });
  });

  it('gives the official result as it was stored, byte for byte', async () => {
    await using server = await ServerFixture.open();
    const id = await accepted(server);
    await server.fixture.clock.advance(10 * EPISODE_MS);
    const stored = await server.fixture.find(parseEvaluationId(id));
    const { text } = await server.send('GET', `/v1/evaluations/${id}`);
    expect(text).toContain(JSON.stringify(stored.summary));
  });

  it('plays an episode that was settled again, and says when there is none', async () => {
    await using server = await ServerFixture.open();
    const id = await accepted(server);
    await server.within(20 * EPISODE_MS, server.send('GET', `/v1/evaluations/${id}/events`));
    const replay = (body: object): ReturnType<ServerFixture['send']> => server.send('POST', `/v1/evaluations/${id}/replays`, { body });
    expect(await replay({ index: 3 })).toMatchObject({ status: 200, json: { schema: 'muster.replay/1', index: 3, isSame: true } });
    expect(await replay({ index: 5 })).toMatchObject({ status: 404, json: { code: 'episode.not-found' } });
    expect(await replay({ index: 3, arm: 1 })).toMatchObject({ status: 404, json: { code: 'episode.not-found' } });
    expect(await replay({ index: -1 })).toMatchObject({ status: 400, json: { errors: [{ field: 'body.index' }] } });
  });

  it('goes through a list page by page, and by what it is filtered for', async () => {
    await using server = await ServerFixture.open();
    const ids: string[] = [];
    for (let version = 0; version < 7; version += 1) {
      ids.unshift(
        await accepted(server, {
          ...ASKED,
          checkpoint: { uri: '/late', run: version % 2 ? 'odd' : 'even', version },
          labels: { a: `${version}` },
        }),
      );
      await server.fixture.clock.advance(1);
    }
    const pageSchema = z.object({ items: z.array(idSchema), next: z.string().nullable() });
    const seen: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const after: string = next === '' ? '' : `&after=${next}`;
      const page = pageSchema.parse((await server.send('GET', `/v1/evaluations?limit=3${after}`)).json);
      seen.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    expect(seen).toEqual(ids);
    const count = async (query: string): Promise<number> =>
      pageSchema.parse((await server.send('GET', `/v1/evaluations?${query}`)).json).items.length;
    expect(await count('run=odd')).toBe(3);
    expect(await count('label=a%3D2')).toBe(1);
    expect(await count('state=waiting,running')).toBe(7);
    expect(await count('state=finished')).toBe(0);
    expect(await count('before=2020-01-01T00:00:00Z')).toBe(0);
    expect(await server.send('GET', '/v1/evaluations?after=nonsense')).toMatchObject({ status: 422, json: { code: 'cursor.invalid' } });
    const refused = { status: 400, json: { detail: expect.stringMatching(/^query\.state: expected one of "waiting"\|.*, got "lost"$/) } };
    expect(await server.send('GET', '/v1/evaluations?state=lost')).toMatchObject(refused);
  });

  it('cancels one, and keeps its partial result', async () => {
    await using server = await ServerFixture.open();
    const id = await accepted(server, { ...ASKED, suite: '50-episodes' });
    await server.fixture.clock.advance(3 * EPISODE_MS);
    expect((await server.send('DELETE', `/v1/evaluations/${id}`)).status).toBe(202);
    expect(await server.send('DELETE', `/v1/evaluations/${id}`)).toMatchObject({
      status: 200,
      json: { state: 'cancelled', summary: { partial: true } },
    });
    expect((await server.send('DELETE', '/v1/evaluations/nothing')).status).toBe(404);
  });
});

describe('following an evaluation', () => {
  it('sends events until it is over, and from any of them on', async () => {
    await using server = await ServerFixture.open();
    const id = await accepted(server);
    const following = server.send('GET', `/v1/evaluations/${id}/events`);
    await server.fixture.clock.advance(10 * EPISODE_MS);
    const { text, headers } = await following;
    expect(headers['content-type']).toContain('text/event-stream');
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, sequence]) => Number(sequence));
    expect(ids).toEqual(ids.map((_, i) => i + 1));
    expect(text).toContain('event: progress\ndata: {"sequence":');
    expect(text.trim().endsWith('"data":{"state":"finished"}}')).toBe(true);
    const rest = await server.send('GET', `/v1/evaluations/${id}/events`, { headers: { 'last-event-id': String(ids.length - 1) } });
    expect([...rest.text.matchAll(/^id: (\d+)$/gm)].map(([, sequence]) => Number(sequence))).toEqual([ids.length]);
    const nothing = await server.send('GET', `/v1/evaluations/${id}/events?after=${ids.length}`);
    expect(nothing).toMatchObject({ status: 204, text: '' });
  });

  it('sends a heartbeat while nothing happens', async () => {
    await using server = await ServerFixture.open({ slots: 1 });
    await accepted(server, { ...ASKED, suite: '1000-episodes' });
    const id = await accepted(server, { ...ASKED, checkpoint: { uri: '/other' } });
    const following = server.send('GET', `/v1/evaluations/${id}/events`);
    await server.fixture.clock.advance(40_000);
    await server.send('DELETE', `/v1/evaluations/${id}`);
    await server.fixture.clock.advance(2000);
    const { text } = await following;
    expect(text.match(/^: still here$/gm)).toHaveLength(2);
  });

  it('ends when the server does', async () => {
    const server = await ServerFixture.open();
    const id = await accepted(server, { ...ASKED, suite: '1000-episodes' });
    const following = server.send('GET', `/v1/evaluations/${id}/events`);
    await server.fixture.clock.advance(100);
    await server[Symbol.asyncDispose]();
    expect((await following).text).toContain('"state":"running"');
    expect(server.fixture.clock.pending).toBe(0);
  });
});

describe('the documents of the server', () => {
  it('are an OpenAPI document that refers to nothing it does not have, and a page that needs no other server', async () => {
    await using server = await ServerFixture.open();
    const { json, text } = await server.send('GET', '/openapi.json');
    expect(json).toMatchObject({ openapi: '3.1.0', paths: { '/v1/evaluations': { post: {}, get: {} }, '/v1/comparisons': { post: {} } } });
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(references).toContain('Summary');
    const { components } = z.object({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) }).parse(json);
    for (const name of references) expect(Object.keys(components.schemas)).toContain(name);
    const page = await server.send('GET', '/docs/');
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/(?:src|href)="https?:/);
  });

  it('say what is missing at an unknown path', async () => {
    await using server = await ServerFixture.open();
    expect(await server.send('GET', '/v2/evaluations')).toMatchObject({ status: 404, json: { code: 'request.not-found' } });
    const other = await server.send('PATCH', '/v1/evaluations/nothing');
    expect(other).toMatchObject({ status: 405, headers: { allow: 'DELETE, GET, HEAD' }, json: { code: 'request.method' } });
  });

  it('say whether the server is ready', async () => {
    const reasons = [{ code: 'store.unavailable', detail: 'the database does not answer' }];
    await using server = await ServerFixture.open({}, { readiness: async () => reasons });
    expect(await server.send('GET', '/readyz')).toMatchObject({ status: 503, json: { ready: false, reasons } });
    expect(await server.send('GET', '/healthz')).toMatchObject({ status: 200, json: { status: 'ok' } });
  });
});
