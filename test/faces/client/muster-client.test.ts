import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, readSuiteToSend } from '../../../src/app/client/server-client.ts';
import { EvaluationEndedError, RefusedError, UnavailableError, WaitTimeoutError } from '../../../src/faces/client/client-errors.ts';
import type { FollowedEvent } from '../../../src/faces/client/streams.ts';
import { VERSION_HEADER } from '../../../src/faces/server-version.ts';
import { PACKAGE_VERSION } from '../../../src/kernel/package-root.ts';
import type { RunningFigures } from '../../../src/service/orders/running-figures.ts';
import { completeTerms, givenTermsSchema } from '../../../src/agents/rollouts/streams/stream-order.ts';
import { callsOptions, clientOf, ClientFixture } from '../../support/client-fixture.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { ServiceFixture } from '../../support/service-fixture.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));
afterAll(() => nock.disableNetConnect());

const LATE = { uri: '/late', run: 'r', version: 1 };
const CHECKPOINT = join(import.meta.dirname, '../../../examples/game/checkpoints/late.safetensors');

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  return Array.fromAsync(items);
}

describe('a client of a server', () => {
  it('takes the path of a directory for the name of a suite, which the directory may have, too', async () => {
    expect(await readSuiteToSend(import.meta.dirname)).toBe(import.meta.dirname);
    await expect(readSuiteToSend(CHECKPOINT)).rejects.toMatchObject({ code: 'suite.swapped' });
  });

  it('sends the weights, evaluates, reports its progress, and returns the answer', async () => {
    await using fixture = await ClientFixture.open();
    const received: RunningFigures[] = [];
    const options = { run: 'r', version: 3, onProgress: (figures: RunningFigures) => void received.push(figures) };
    const summary = await fixture.during(fixture.client().evaluate(CHECKPOINT, '5-episodes', options));
    expect(summary).toMatchObject({ schema: 'muster.summary/1', official: { episodes: 5 } });
    expect(received.length).toBeGreaterThan(0);
    const [listed] = await all(fixture.client().list({ run: 'r' }));
    expect(listed).toMatchObject({
      state: 'finished',
      version: 3,
      checkpoints: [{ uri: expect.stringMatching(/^sha256:/), name: 'late.safetensors' }],
    });
  });

  it('gets a known answer with one request', async () => {
    const service = new ServiceFixture();
    service.player.repeats = true;
    await using fixture = await ClientFixture.open(service);
    const first = await fixture.during(fixture.client().evaluate(LATE, '5-episodes'));
    const asked: string[] = [];
    fixture.server.app.server.on('request', ({ method, url }) => void asked.push(`${method} ${url}`));
    const again = await fixture.client().evaluate(LATE, '5-episodes');
    expect(again.official).toEqual(first.official);
    expect(asked).toEqual(['POST /v1/evaluations']);
  });

  it('refuses an option that it does not know, before anything is sent', async () => {
    await using fixture = await ClientFixture.open();
    const mistyped = Object({ prority: 5 });
    const refused = { code: 'library.input', message: 'options: prority: unknown key; did you mean "priority"?' };
    await expect(fixture.client().evaluate(LATE, '5-episodes', mistyped)).rejects.toMatchObject(refused);
    await expect(fixture.client().compare(LATE, LATE, '5-episodes', mistyped)).rejects.toMatchObject(refused);
    await expect(all(fixture.client().list(Object({ stat: 'running' })))).rejects.toThrow(
      'filter: stat: unknown key; did you mean "state"?',
    );
    await expect(all(fixture.client().list(Object({ state: 5 })))).rejects.toThrow('filter: state: expected a state such as "running"');
    await expect(fixture.client().evaluate(LATE, Object(7).valueOf())).rejects.toThrow('suite: expected the name of a suite');
  });

  it.each([
    [{ tken: 'x' }, 'tken: unknown key; did you mean "token"?'],
    [{ retry: 5 }, 'retry: expected an object such as'],
    [{ retry: { patience: 5 } }, 'retry: patience: unknown key'],
    [{ retry: { patienceMilliseconds: -1 } }, 'retry: patienceMilliseconds: expected milliseconds, 0 or more, got -1'],
    [{ plainHttp: 'yes' }, 'plainHttp: expected true or false, got "yes"'],
  ])('is not made of an option that it does not know, or of another kind: %j', (options, problem) => {
    expect(() => connect('http://127.0.0.1:9', Object(options))).toThrow(problem);
  });

  it.each([
    [{ cache: 'off' }, 'cache: expected true or false, got "off"'],
    [{ deadline: 'tomorrow' }, 'deadline: expected a Date, got "tomorrow"'],
    [{ labels: ['owner'] }, 'labels: expected an object of texts, such as { owner: "ppo" }, got ["owner"]'],
    [{ timeoutSeconds: '5' }, 'timeoutSeconds: expected a number of seconds, 0 or more, got "5"'],
    [{ signal: true }, 'signal: expected an AbortSignal, got true'],
    [{ onProgress: 5 }, 'onProgress: expected a function, got 5'],
    [{ idempotencyKey: 7 }, 'idempotencyKey: expected text, got 7'],
  ])('refuses an option of another kind, before anything is sent: %j', async (given, problem) => {
    await using fixture = await ClientFixture.open();
    const refused = { code: 'library.input', message: `options: ${problem}` };
    await expect(fixture.client().evaluate(LATE, '5-episodes', Object(given))).rejects.toMatchObject(refused);
    await expect(fixture.client().compare(LATE, LATE, '5-episodes', Object(given))).rejects.toMatchObject(refused);
  });

  it.each([
    [7, 'expected an object with path, uri, sha256, name, run, version, got 7'],
    [{ pth: 'late.zip' }, 'pth: unknown key; did you mean "path"?'],
    [{ run: 'r' }, 'expected one of path, uri and sha256, got none'],
    [{ path: 'late.zip', uri: '/late' }, 'expected one of path, uri and sha256, got path and uri'],
    [{ path: '' }, '.path: expected text that is not empty, got ""'],
    ['/no/such/agent.yaml', '/no/such/agent.yaml does not exist; check the path'],
  ])('refuses what names no checkpoint and no agent: %j', async (given, problem) => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    const said = (what: string): unknown => ({ message: `${what}${problem.startsWith('.') ? '' : ': '}${problem}` });
    await expect(client.evaluate(Object(given).valueOf(), '5-episodes')).rejects.toMatchObject(Object(said('checkpoint')));
    const terms = { groupSize: 2, concurrency: 2, maxStaleness: 1 };
    await expect(client.startRollouts(Object(given).valueOf(), 'tasks', terms)).rejects.toMatchObject(Object(said('agent')));
  });

  it('grants its checkpoint to others, lists the grants, and revokes them', async () => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    const sha256 = (await client.upload(CHECKPOINT)).replace('sha256:', '');
    const grant = { sha256, principal: 'eval-team', grantedBy: 'local' };
    expect(await client.grant(sha256, 'eval-team')).toMatchObject(grant);
    expect(await client.grants(sha256)).toMatchObject([grant]);
    expect(await client.revokeGrant(sha256, 'eval-team')).toMatchObject([grant]);
    expect(await client.revokeGrant(sha256, 'eval-team')).toEqual([]);
    await expect(client.grant('0'.repeat(64), 'eval-team')).rejects.toMatchObject({ code: 'checkpoint.not-found', reason: 'not-found' });
  });

  it('submits and waits separately, and follows without missing or repeating an event', async () => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    const { id } = await client.submit(LATE, '5-episodes', { idempotencyKey: 'a' });
    await expect(client.report(id)).rejects.toMatchObject({ code: 'report.none', reason: 'bad-request' });
    const following: Promise<readonly FollowedEvent[]> = all(client.events(id));
    const events = await fixture.during(following);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
    expect(events.at(-1)).toMatchObject({ type: 'state', data: { state: 'finished' } });
    expect((await all(client.events(id, { after: 2 }))).map(({ sequence }) => sequence)).toEqual(
      events.slice(2).map(({ sequence }) => sequence),
    );
    expect(await client.wait(id)).toMatchObject({ official: { episodes: 5 } });
    expect(await client.report(id)).toMatch(/^<!doctype html>.*<\/html>\s*$/is);
    expect((await client.submit(LATE, '5-episodes', { idempotencyKey: 'a' })).id).toBe(id);
  });

  it('submits comparisons', async () => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    const comparison = await client.submitComparison({ uri: '/early' }, [LATE, { uri: '/best' }], '5-episodes', { margin: 2 });
    expect(comparison).toMatchObject({ kind: 'comparison', checkpoints: [{ part: 'baseline' }, { uri: '/late' }, { uri: '/best' }] });
    const pair = await client.submit(LATE, '5-episodes', { baseline: { uri: '/early' } });
    expect(pair).toMatchObject({ kind: 'comparison', checkpoints: [{ part: 'baseline', uri: '/early' }, { uri: '/late' }] });
  });

  it('lists across pages, and cancels; a waiting caller receives what was known by then', async () => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    for (let i = 0; i < 5; i += 1) await client.submit({ ...LATE, version: i }, '1000-episodes', { labels: { batch: 'b' } });
    const label = { name: 'batch', value: 'b' };
    const listed = await all(client.list({ label, run: 'r', state: ['waiting', 'running'] }, { pageSize: 2 }));
    expect(new Set(listed.map(({ id }) => id)).size).toBe(5);
    const [{ id } = { id: '' }] = listed;
    const waiting = client.wait(id).catch((error: unknown) => error);
    await client.cancel(id);
    const ended = await fixture.during(waiting);
    expect(ended).toBeInstanceOf(EvaluationEndedError);
    expect(ended).toMatchObject({ code: 'evaluation.cancelled', evaluation: { id, state: 'cancelled' } });
  });

  it('ends a wait in time, and the evaluation continues', async () => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    const { id } = await client.submit(LATE, '1000-episodes');
    await expect(fixture.during(client.wait(id, { timeoutSeconds: 3 }))).rejects.toBeInstanceOf(WaitTimeoutError);
    expect((await client.get(id)).state).toBe('running');
  });

  it('reports a refusal of the server: which field, what is wrong, what was expected', async () => {
    await using fixture = await ClientFixture.open();
    const client = fixture.client();
    await expect(client.submit(LATE, 'unknown')).rejects.toMatchObject({ kind: 'input', code: 'suite.unknown', reason: 'bad-request' });
    await expect(client.get('nothing')).rejects.toMatchObject({ code: 'evaluation.not-found', reason: 'not-found', status: 404 });
    await client.submit(LATE, '5-episodes', { idempotencyKey: 'a' });
    const other = client.submit(LATE, '6-episodes', { idempotencyKey: 'a' });
    await expect(other).rejects.toMatchObject({ code: 'idempotency.conflict', reason: 'conflict' });
    const wrong = await client.submit(LATE, '5-episodes', { priority: 1000 }).catch((error: unknown) => error);
    expect(wrong).toBeInstanceOf(RefusedError);
    expect(wrong).toMatchObject({
      code: 'request.invalid',
      errors: [{ field: 'body.priority', detail: expect.stringContaining('got 1000'), expected: 'a number of 100 at most' }],
    });
  });

  it('waits as long as the server asks for, and no longer than its patience', async () => {
    const clock = new ManualClock();
    const client = clientOf(callsOptions('http://muster.test', clock));
    const full = { code: 'quota.waiting-evaluations', detail: 'full', type: 'about:blank', title: '', status: 429 };
    const site = nock('http://muster.test')
      .get('/v1/pools')
      .reply(503, 'not now')
      .get('/v1/pools')
      .reply(429, full, { 'retry-after': '30' })
      .get('/v1/pools')
      .reply(200, { items: [] })
      .get('/v1/pools')
      .reply(429, full)
      .get('/v1/pools')
      .reply(503, 'not now', { 'retry-after': '500' })
      .get('/v1/pools')
      .reply(500, 'a defect')
      .get('/v1/pools')
      .reply(401, '', { 'www-authenticate': 'Bearer realm="muster", code="access.expired", error_description="has expired"' });
    const asking = client.pools();
    expect(await clock.advanceFor(asking, 60_000, 100)).toEqual([]);
    expect(clock.now()).toBeGreaterThanOrEqual(30_000);
    // Time alone mends nothing.
    await expect(client.pools()).rejects.toMatchObject({
      code: 'quota.waiting-evaluations',
      reason: 'quota',
      retryAfterSeconds: undefined,
    });
    await expect(client.pools()).rejects.toBeInstanceOf(UnavailableError);
    await expect(client.pools()).rejects.toMatchObject({ code: 'server.answer', kind: 'infrastructure' });
    // An answer to HEAD has no body.
    await expect(client.pools()).rejects.toMatchObject({ code: 'access.expired', reason: 'unauthorized', message: 'has expired' });
    expect(site.isDone()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('resumes the stream of episodes where it broke', async () => {
    const clock = new ManualClock();
    const client = clientOf(callsOptions('http://muster.test', clock));
    const outcome = { kind: 'completed', return: 1, length: 2, metrics: {} };
    const facts = { task: 't', environmentSeed: 1, policySeed: 2, checkpoint: 'sha256:a', outcome, seconds: 0.5 };
    const lines = [3, 4, 5].map((index) => `${JSON.stringify({ index, ...facts })}\n`);
    async function* broken(): AsyncGenerator<string> {
      yield `${lines[0]}${lines[1]?.slice(0, 20)}`;
      // The first line is to be on its way by then.
      await settle();
      throw new Error('broken');
    }
    nock('http://muster.test')
      .get('/v1/evaluations/ev-1/episodes?from=3&arm=1')
      .reply(200, () => Readable.from(broken()))
      .get('/v1/evaluations/ev-1/episodes?from=4&arm=1')
      .reply(200, lines.slice(1).join(''));
    const episodes = await clock.advanceFor(all(client.episodes('ev-1', { first: 3, arm: 1 })), 60_000, 100);
    expect(episodes.map(({ index }) => index)).toEqual([3, 4, 5]);
  });

  it('follows all changes through connections that end, and says that some were left out', async () => {
    const clock = new ManualClock();
    const client = clientOf(callsOptions('http://muster.test', clock));
    const frame = (message: object): string => `: still here\n\nevent: changes\ndata: ${JSON.stringify(message)}\n\n`;
    nock('http://muster.test')
      .get('/v1/live')
      .reply(200, frame({ pools: [] }) + frame({ running: [] }))
      .get('/v1/live')
      .reply(503, 'not now')
      .get('/v1/live')
      .reply(200, frame({ pools: [] }) + frame({ unexpected: 1, pools: 'none' }));
    const received: unknown[] = [];
    const follow = async (): Promise<void> => {
      for await (const message of client.live({ onLost: () => received.push('lost') })) received.push(message);
    };
    await expect(clock.advanceFor(follow(), 60_000, 100)).rejects.toMatchObject({ code: 'server.answer' });
    expect(received).toEqual([{ pools: [] }, { running: [] }, 'lost', 'lost', { pools: [], isIncomplete: true }, 'lost']);
    expect(clock.pending).toBe(0);
  });

  it('ends at an abort, which does not count as a lost connection', async () => {
    const clock = new ManualClock();
    const client = clientOf(callsOptions('http://muster.test', clock));
    const ended = new AbortController();
    async function* open(): AsyncGenerator<string> {
      yield `event: changes\ndata: ${JSON.stringify({ pools: [] })}\n\n`;
      await new Promise(() => undefined);
    }
    nock('http://muster.test')
      .get('/v1/live')
      .reply(200, () => Readable.from(open()));
    const received: unknown[] = [];
    const follow = async (): Promise<void> => {
      for await (const message of client.live({ signal: ended.signal, onLost: () => received.push('lost') })) {
        received.push(message);
        ended.abort(new DOMException('enough', 'AbortError'));
      }
    };
    await expect(clock.advanceFor(follow(), 60_000, 100)).rejects.toThrow('enough');
    expect(received).toEqual([{ pools: [] }]);
    expect(clock.pending).toBe(0);
  });

  it('warns a training that gets no groups, and says why', async () => {
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const client = clientOf({ ...callsOptions('http://muster.test', new ManualClock()), warn });
    const terms = { ...completeTerms(givenTermsSchema.parse({ groupSize: 2, concurrency: 4, maxStaleness: 1 })), total: undefined };
    const groups = { begun: 9, ready: 0, acknowledged: 2, filtered: 7, stale: 0, trajectories: 18 };
    const times = { createdAt: '2026-01-01T00:00:00.000Z', endedAt: null };
    const facts = { id: 'ro-1', principal: 'p', suite: 's', agent: 'sha256:a', policy: 'm', state: 'running', problem: 'it is slow' };
    nock('http://muster.test')
      .get(/^\/v1\/rollouts\/ro-1\/groups/)
      .reply(200, { items: [], state: 'running', problem: null })
      .get('/v1/rollouts/ro-1')
      .reply(200, { ...facts, ...times, terms, groups })
      .get(/^\/v1\/rollouts\/ro-1\/groups/)
      .reply(200, { items: [], state: 'cancelled', problem: null });
    expect(await Array.fromAsync(client.rollouts.groups('ro-1'))).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/^ro-1: no group for 20 s; 9 begun, 7 filtered, .* keepFiltered .* reportVersion\('m', …\); it is slow$/),
    ]);
  });

  it('warns once of a server of another version, also where it is refused', async () => {
    const same = `${PACKAGE_VERSION.split('.', 2).join('.')}.99`;
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const client = clientOf({ ...callsOptions('http://muster.test', new ManualClock()), warn });
    for (const version of [same, '7.2.0', '7.2.0', PACKAGE_VERSION])
      nock('http://muster.test')
        .get('/v1/pools')
        .reply(403, '', { [VERSION_HEADER]: version });
    for (let call = 0; call < 4; call += 1) await expect(client.pools()).rejects.toMatchObject({ reason: 'forbidden' });
    expect(warnings).toEqual([
      `the server at http://muster.test is Muster 7.2.0, and this client is ${PACKAGE_VERSION}; an answer may be one that this client ` +
        "does not know. Install the server's version: muster-eval 7.2.0",
    ]);
  });

  it('gives up at once a server without TLS that it was to ask with TLS', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const at = typeof address === 'object' ? `127.0.0.1:${address?.port}` : '';
    const asked = clientOf(callsOptions(`https://${at}`, new ManualClock())).pools();
    await expect(asked).rejects.toThrow(`https://${at} speaks no TLS; did you mean http://${at}?`);
    server.close();
  });

  it('says at which address no server listens, once as soon as it is found and once when it is given up', async () => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const pools = clientOf({ ...callsOptions('http://127.0.0.1:1', clock), warn }).pools();
    const error = await clock.advanceFor(
      pools.catch((error: unknown) => error),
      1_000_000,
      100,
    );
    expect(error).toMatchObject({ code: 'server.unreachable', message: expect.stringContaining('http://127.0.0.1:1 cannot be reached') });
    expect(warnings).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:1 cannot be reached.*\(trying again for 120 s\)$/)]);
  });
});
