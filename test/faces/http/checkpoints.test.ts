import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseDigest } from '../../../src/kernel/ids.ts';
import { TokenService } from '../../../src/service/access/token-service.ts';
import { identifyByToken } from '../../../src/faces/http/requests/identify.ts';
import { encoded } from '../../policy-distribution/encoded-delta.ts';
import { eventually } from '../../support/eventually.ts';
import { ServerFixture } from '../../support/server-fixture.ts';
import { ServiceFixture } from '../../support/service-fixture.ts';
import { sha256, UploadFixture } from '../../support/upload-fixture.ts';

// Plain sockets are its business, too, and these are to reach the server.
beforeAll(() => nock.restore());

const WEIGHTS = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 31) % 256));
const DIGEST = sha256(WEIGHTS);
const TARGET = `/v1/checkpoints/${DIGEST}?name=policy.bin`;

interface Opened extends AsyncDisposable {
  readonly server: ServerFixture;
  readonly fixture: ServiceFixture;
  readonly files: UploadFixture;
}

async function opened({ takesTokens = false } = {}): Promise<Opened> {
  const fixture = new ServiceFixture();
  const files = await UploadFixture.open(fixture.clock);
  const checkpointService = files.checkpointService(fixture, fixture.gate());
  const identify = takesTokens ? { identify: identifyByToken(fixture.store.tokens, fixture.clock) } : {};
  const server = await ServerFixture.open({}, { checkpoints: checkpointService, ...identify }, fixture);
  return {
    server,
    fixture,
    files,
    [Symbol.asyncDispose]: async () => {
      await files[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      expect(fixture.clock.pending, 'timers that were left').toBe(0);
    },
  };
}

async function connected({ app }: ServerFixture): Promise<Socket> {
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

function part(first: number, last: number): { body: Buffer; headers: Record<string, string> } {
  return { body: WEIGHTS.subarray(first, last + 1), headers: { 'content-range': `bytes ${first}-${last}/${WEIGHTS.length}` } };
}

describe('sending a checkpoint', () => {
  it('in one request: it is stored, verified, and charged to its sender', async () => {
    await using all = await opened();
    const { server, fixture, files } = all;
    const missing = await server.send('HEAD', TARGET.split('?')[0] ?? '');
    expect([missing.status, missing.headers['upload-offset']]).toEqual([404, '0']);
    const answer = await server.send('PUT', TARGET, { body: WEIGHTS });
    expect(answer).toMatchObject({
      status: 201,
      json: { sha256: DIGEST, kind: 'file', bytes: 5000, files: [{ path: 'policy.bin', size: 5000, sha256: DIGEST }] },
    });
    expect((await server.send('HEAD', `/v1/checkpoints/${DIGEST}`)).status).toBe(200);
    expect(await fixture.store.usage.sumCheckpointBytes('local')).toBe(5000);
    expect((await files.checkpoints.find(parseDigest(`sha256:${DIGEST}`)))?.files[0]?.path).toBe('policy.bin');
  });

  it('in parts: each begins where the last one ended, and another part learns where that is', async () => {
    await using all = await opened();
    const { server } = all;
    const first = await server.send('PUT', TARGET, part(0, 1999));
    expect([first.status, first.headers['upload-offset'], first.json]).toEqual([202, '2000', { received: 2000 }]);
    const gap = await server.send('PUT', TARGET, part(3000, 4999));
    expect(gap).toMatchObject({ status: 409, json: { code: 'upload.offset' }, headers: { 'upload-offset': '2000' } });
    expect((await server.send('HEAD', `/v1/checkpoints/${DIGEST}`)).headers['upload-offset']).toBe('2000');
    expect((await server.send('HEAD', `/v1/checkpoints/${DIGEST}?kind=delta`)).headers['upload-offset']).toBe('0');
    expect((await server.send('PUT', TARGET, part(2000, 4999))).status).toBe(201);
  });

  it('as a delta of one that is there: the whole file is charged, and its base has to be there', async () => {
    await using all = await opened();
    const { server, fixture } = all;
    const next = Buffer.from(WEIGHTS);
    next[7] = 0;
    const body = await encoded('policy.bin', next, WEIGHTS);
    const target = `/v1/checkpoints/${sha256(next)}?kind=delta&name=policy.bin`;
    expect(await server.send('PUT', target, { body })).toMatchObject({ status: 422, json: { code: 'checkpoint.base' } });
    await server.send('PUT', TARGET, { body: WEIGHTS });
    expect(await server.send('PUT', target, { body })).toMatchObject({ status: 201, json: { sha256: sha256(next), bytes: next.length } });
    expect((await server.send('HEAD', target.split('?')[0] ?? '')).status).toBe(200);
    expect(await fixture.store.usage.sumCheckpointBytes('local')).toBe(2 * WEIGHTS.length);
  });

  it('of no bytes, and without a content type', async () => {
    await using all = await opened();
    const { server } = all;
    expect((await server.send('PUT', `/v1/checkpoints/${sha256('')}?name=empty.bin`)).status).toBe(201);
    const headers = { 'content-type': 'application/json' };
    expect((await server.send('PUT', TARGET, { body: WEIGHTS, headers })).status).toBe(201);
  });

  it('that does not match its digest: it is refused, and nothing of it is left', async () => {
    await using all = await opened();
    const { server, fixture, files } = all;
    const answer = await server.send('PUT', TARGET, { body: Buffer.concat([WEIGHTS.subarray(0, 4999), Buffer.from([0])]) });
    expect(answer).toMatchObject({ status: 422, json: { code: 'checkpoint.digest' } });
    expect(await files.uploads.sumPendingBytes('local')).toBe(0);
    expect(await fixture.store.usage.sumCheckpointBytes('local')).toBe(0);
    expect((await server.send('HEAD', `/v1/checkpoints/${DIGEST}`)).status).toBe(404);
  });

  it.each([
    ['an invalid range', { 'content-range': 'bytes 5-1/7' }, TARGET, 422, 'upload.range'],
    ['a body of unannounced length', { 'transfer-encoding': 'chunked' }, TARGET, 422, 'upload.range'],
    ['more than a checkpoint may have', { 'content-range': 'bytes 0-4999/99999999999' }, TARGET, 413, 'checkpoint.too-large'],
    ['a name that leads elsewhere', {}, `/v1/checkpoints/${DIGEST}?name=${encodeURIComponent('../x')}`, 422, 'checkpoint.path'],
    ['a name for a manifest', {}, `/v1/checkpoints/${DIGEST}?kind=manifest&name=x`, 400, 'request.invalid'],
    ['an invalid digest', {}, '/v1/checkpoints/ABC', 400, 'request.invalid'],
  ])('with %s is refused', async (_what, headers, url, status, code) => {
    await using all = await opened();
    expect(await all.server.send('PUT', url, { body: WEIGHTS, headers })).toMatchObject({ status, json: { code } });
  });

  it('of a directory: its files, then its manifest, which says what is missing', async () => {
    await using all = await opened();
    const { server, fixture } = all;
    const [weights, code] = [Buffer.from('weights'), Buffer.from('def act(): ...')];
    const manifest = `${sha256(code)}  code/policy.py\n${sha256(weights)}  weights.bin\n`;
    const url = `/v1/checkpoints/${sha256(manifest)}?kind=manifest`;
    await server.send('PUT', `/v1/checkpoints/${sha256(weights)}`, { body: weights });
    const early = await server.send('PUT', url, { body: Buffer.from(manifest) });
    expect(early).toMatchObject({ status: 422, json: { code: 'checkpoint.incomplete', detail: expect.stringContaining(sha256(code)) } });
    await server.send('PUT', `/v1/checkpoints/${sha256(code)}`, { body: code });
    expect(await server.send('PUT', url, { body: Buffer.from(manifest) })).toMatchObject({
      status: 201,
      json: { kind: 'directory', bytes: weights.length + code.length, files: [{ path: 'code/policy.py' }, { path: 'weights.bin' }] },
    });
    expect(await fixture.store.usage.sumCheckpointBytes('local')).toBe(weights.length + code.length);
  });

  it('beyond the quota is refused before its bytes are read, also when it comes in many requests at once', async () => {
    await using all = await opened();
    const { server, fixture } = all;
    fixture.quotas.set('local', { checkpointBytes: 7000 });
    const contents = ['a', 'b', 'c'].map((letter) => Buffer.from(letter.repeat(3000)));
    const answers = await Promise.all(contents.map((body) => server.send('PUT', `/v1/checkpoints/${sha256(body)}?name=x.bin`, { body })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json).toMatchObject({ code: 'quota.checkpoint-bytes' });
    // Time alone does not mend it.
    expect(refused?.headers['retry-after']).toBeUndefined();
  });

  it('requires the role of a submitter, and no caller sees a partial upload of another', async () => {
    await using all = await opened({ takesTokens: true });
    const { server, fixture } = all;
    const office = new TokenService(fixture.store, fixture.clock, 'test');
    const [submitter = '', other = '', viewer = ''] = await Promise.all(
      (['submitter', 'submitter', 'viewer'] as const).map(async (role, i) => {
        const { text } = await office.issue({ principal: `${role}-${i}`, role, lifetimeMs: undefined });
        return `Bearer ${text}`;
      }),
    );
    const asked = (authorization: string): { body: Buffer; headers: Record<string, string> } => {
      const { body, headers } = part(0, 1999);
      return { body, headers: { ...headers, authorization } };
    };
    expect((await server.send('PUT', TARGET, asked(viewer))).status).toBe(403);
    expect((await server.send('PUT', TARGET)).status).toBe(401);
    expect((await server.send('PUT', TARGET, asked(submitter))).status).toBe(202);
    const seen = async (authorization: string): Promise<unknown> =>
      (await server.send('HEAD', `/v1/checkpoints/${DIGEST}`, { headers: { authorization } })).headers['upload-offset'];
    expect([await seen(submitter), await seen(other)]).toEqual(['2000', '0']);
  });
});

describe('an upload whose connection breaks', () => {
  it('continues from the bytes that have come', async () => {
    await using all = await opened();
    const { server } = all;
    const socket = await connected(server);
    const head = `PUT ${TARGET} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: 5000\r\n\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), WEIGHTS.subarray(0, 2345)]));
    const offset = async (): Promise<unknown> => (await server.send('HEAD', `/v1/checkpoints/${DIGEST}`)).headers['upload-offset'];
    await eventually('the first part has come', async () => (await offset()) === '2345');
    socket.destroy();
    await once(socket, 'close');
    expect((await server.send('PUT', TARGET, part(2345, 4999))).status).toBe(201);
    expect(server.fixture.warnings).toEqual([]);
  });
});

describe('an upload that is sent again while the broken connection seems to last', () => {
  it('supersedes it, and its bytes count once against the quota', async () => {
    await using all = await opened();
    const { server, fixture } = all;
    fixture.quotas.set('local', { checkpointBytes: 5000 });
    const socket = await connected(server);
    const head = `PUT ${TARGET} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), WEIGHTS.subarray(0, 100)]));
    const offset = async (): Promise<unknown> => (await server.send('HEAD', `/v1/checkpoints/${DIGEST}`)).headers['upload-offset'];
    await eventually('the first part has come', async () => (await offset()) === '100');
    const closed = once(socket, 'close');
    socket.resume();
    expect((await server.send('PUT', TARGET, part(100, 4999))).status).toBe(201);
    await closed;
  });

  it('continues at the next start when the server ends, which does not wait', async () => {
    await using all = await opened();
    const { server, files } = all;
    const socket = await connected(server);
    socket.write(`PUT ${TARGET} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n`);
    socket.write(WEIGHTS.subarray(0, 100));
    const offset = async (): Promise<unknown> => (await server.send('HEAD', `/v1/checkpoints/${DIGEST}`)).headers['upload-offset'];
    await eventually('the first part has come', async () => (await offset()) === '100');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    const closed = once(socket, 'close');
    await files.uploads[Symbol.asyncDispose]();
    await closed;
    expect(answer === '' || answer.startsWith('HTTP/1.1 503')).toBe(true);
    expect(await offset()).toBe('100');
  });
});

describe('a connection that is kept', () => {
  it('is unchanged after each upload', async () => {
    await using all = await opened();
    const { server } = all;
    const listeners: number[] = [];
    server.app.server.on('request', (request) => void listeners.push(request.socket.listenerCount('close')));
    const socket = await connected(server);
    let answers = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answers += text));
    for (let sent = 1; sent <= 4; sent += 1) {
      socket.write(`PUT ${TARGET} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n`);
      socket.write(WEIGHTS);
      await eventually('it is answered', () => answers.split('HTTP/1.1 201').length > sent);
    }
    socket.destroy();
    expect(new Set(listeners).size).toBe(1);
  });
});

describe('a large upload that is refused', () => {
  it('is answered before it has come, and the rest of it is not read', async () => {
    await using all = await opened({ takesTokens: true });
    const { server } = all;
    const socket = await connected(server);
    socket.write(`PUT ${TARGET} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${2 ** 40}\r\n\r\n`);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.toLowerCase()).toContain('connection: close');
  });
});

describe('a body that comes ever so slowly', () => {
  it('is given up after a minute, unless it is an upload', async () => {
    await using all = await opened();
    const { server, fixture } = all;
    const socket = await connected(server);
    const idle = fixture.clock.pending;
    socket.write('POST /v1/evaluations HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
    await eventually('the request has begun', () => fixture.clock.pending === idle + 1);
    const closed = once(socket, 'close');
    await fixture.clock.advance(60_000);
    await closed;
    expect(fixture.warnings).toEqual([]);
  });
});
