import { describe, expect, it } from 'vitest';
import { TokenService } from '../../../src/service/access/token-service.ts';
import type { Role } from '../../../src/evaluation-store/tokens.ts';
import { parseDigest } from '../../../src/kernel/ids.ts';
import { addGrantRoutes } from '../../../src/faces/http/routes/grant-routes.ts';
import { identifyByToken } from '../../../src/faces/http/requests/identify.ts';
import { GrantService } from '../../../src/service/checkpoints/grant-service.ts';
import { encoded } from '../../policy-distribution/encoded-delta.ts';
import { ServerFixture, type Answer, type Sent } from '../../support/server-fixture.ts';
import { ServiceFixture } from '../../support/service-fixture.ts';
import { sha256, UploadFixture } from '../../support/upload-fixture.ts';

const WEIGHTS = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 31) % 256));
const HERE = sha256(WEIGHTS);
const ABSENT_WEIGHTS = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 37) % 256));
const ABSENT = sha256(ABSENT_WEIGHTS);

/** A server with tokens and a checkpoint store on the disk. */
class Fixture implements AsyncDisposable {
  readonly server: ServerFixture;
  readonly files: UploadFixture;

  private constructor(server: ServerFixture, files: UploadFixture) {
    this.server = server;
    this.files = files;
  }

  static async open(): Promise<Fixture> {
    const fixture = new ServiceFixture();
    const files = await UploadFixture.open(fixture.clock);
    const checkpoints = files.checkpointService(fixture, fixture.gate());
    const identify = identifyByToken(fixture.store.tokens, fixture.clock);
    const grants = new GrantService({ rights: fixture.store.rights, use: fixture.use, audit: fixture.store.audit });
    const more = [(app: Parameters<typeof addGrantRoutes>[0]): void => addGrantRoutes(app, grants)];
    return new Fixture(await ServerFixture.open({}, { checkpoints, identify, more }, fixture), files);
  }

  /** Sends requests as a principal. */
  async as(principal: string, role: Role = 'submitter'): Promise<(...asked: Parameters<ServerFixture['send']>) => Promise<Answer>> {
    const { store, clock } = this.server.fixture;
    const { text } = await new TokenService(store, clock, 'test').issue({ principal, role, lifetimeMs: undefined });
    return (method, url, sent: Sent = {}) =>
      this.server.send(method, url, { ...sent, headers: { ...sent.headers, authorization: `Bearer ${text}` } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.files[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

/** All of an answer but its time, with a digest written as a word. */
function shape({ status, headers, text }: Answer, digest: string): object {
  const { date: _time, ...rest } = headers;
  const neutral = (value: string): string => value.replaceAll(digest, 'DIGEST');
  return { status, headers: JSON.parse(neutral(JSON.stringify(rest))), text: neutral(text) };
}

const PUT_FILE = `?name=policy.bin`;

describe('a checkpoint that another principal has brought', () => {
  it.each(['viewer', 'submitter', 'operator'] as const)('is not there for one of the role %s who knows its digest', async (role) => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other', role)];
    expect((await owner('PUT', `/v1/checkpoints/${HERE}${PUT_FILE}`, { body: WEIGHTS })).status).toBe(201);
    expect((await owner('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(200);
    for (const query of ['', '?kind=delta', '?kind=manifest'])
      expect(shape(await other('HEAD', `/v1/checkpoints/${HERE}${query}`), HERE)).toEqual(
        shape(await other('HEAD', `/v1/checkpoints/${ABSENT}${query}`), ABSENT),
      );
    expect((await other('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(404);
  });

  it('is no base for a delta, and no file for a directory, of another principal', async () => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other')];
    await owner('PUT', `/v1/checkpoints/${HERE}${PUT_FILE}`, { body: WEIGHTS });
    const next = Buffer.from(WEIGHTS);
    next[7] = 0;
    const body = await encoded('policy.bin', next, WEIGHTS);
    const delta = `/v1/checkpoints/${sha256(next)}?kind=delta&name=policy.bin`;
    const refused = await other('PUT', delta, { body });
    expect(refused).toMatchObject({ status: 422, json: { code: 'checkpoint.base' } });
    const nextOfAbsent = Buffer.from(ABSENT_WEIGHTS);
    nextOfAbsent[7] = 0;
    const toldByAbsent = { body: await encoded('policy.bin', nextOfAbsent, ABSENT_WEIGHTS) };
    const same = await other('PUT', `/v1/checkpoints/${sha256(nextOfAbsent)}?kind=delta&name=policy.bin`, toldByAbsent);
    expect(shape(refused, HERE)).toEqual(shape(same, ABSENT));
    const directory = async (file: string): Promise<object> => {
      const manifest = Buffer.from(`${file}  weights.bin\n`);
      const answer = await other('PUT', `/v1/checkpoints/${sha256(manifest)}?kind=manifest`, { body: manifest });
      expect(answer).toMatchObject({ status: 422, json: { code: 'checkpoint.incomplete', detail: expect.stringContaining(file) } });
      return { status: answer.status, text: answer.text.replaceAll(file, 'FILE').replaceAll(sha256(manifest), 'DIGEST') };
    };
    expect(await directory(HERE)).toEqual(await directory(ABSENT));
    expect((await owner('PUT', delta, { body })).status).toBe(201);
  });

  it('is available to the other principal once it has sent all of its bytes, and not before', async () => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other')];
    const target = (digest: string): string => `/v1/checkpoints/${digest}${PUT_FILE}`;
    await owner('PUT', target(HERE), { body: WEIGHTS });
    const rest = { body: WEIGHTS.subarray(4999), headers: { 'content-range': 'bytes 4999-4999/5000' } };
    for (const sent of [{ headers: { 'content-range': 'bytes */5000' } }, rest]) {
      const answer = await other('PUT', target(HERE), sent);
      expect(answer.status).toBe(409);
      expect(shape(answer, HERE)).toEqual(shape(await other('PUT', target(ABSENT), sent), ABSENT));
    }
    const first = { body: WEIGHTS.subarray(0, 2000), headers: { 'content-range': 'bytes 0-1999/5000' } };
    expect((await other('PUT', target(HERE), first)).status).toBe(202);
    expect((await other('HEAD', `/v1/checkpoints/${HERE}`)).headers['upload-offset']).toBe('2000');
    const wrong = Buffer.from(WEIGHTS.subarray(2000));
    wrong[0] = 255 - (wrong[0] ?? 0);
    expect((await other('PUT', target(HERE), { body: wrong, headers: { 'content-range': 'bytes 2000-4999/5000' } })).json).toMatchObject({
      code: 'checkpoint.digest',
    });
    expect((await other('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(404);
    expect((await other('PUT', target(HERE), { body: WEIGHTS })).status).toBe(201);
    expect((await other('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(200);
  });

  it('keeps a name for each principal: no principal can change the format of another’s file', async () => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other')];
    await owner('PUT', `/v1/checkpoints/${HERE}?name=policy.bin`, { body: WEIGHTS });
    await other('PUT', `/v1/checkpoints/${HERE}?name=policy.pt`, { body: WEIGHTS });
    const { use } = fixture.server.fixture;
    const digest = parseDigest(`sha256:${HERE}`);
    expect([await use.find('owner', digest), await use.find('other', digest)]).toEqual([
      { kind: 'file', name: 'policy.bin' },
      { kind: 'file', name: 'policy.pt' },
    ]);
  });
});

describe('the text of a directory’s manifest', () => {
  const MANIFEST = Buffer.from(`${HERE}  weights.bin\n`);
  const url = `/v1/checkpoints/${sha256(MANIFEST)}`;

  it('that is sent as a file gives no right to the directory, and does not take its place', async () => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other')];
    const { checkpoints } = fixture.files;
    const digest = parseDigest(`sha256:${sha256(MANIFEST)}`);
    // Before the directory is there, and after.
    expect((await other('PUT', `${url}?name=manifest.txt`, { body: MANIFEST })).status).toBe(201);
    expect((await other('HEAD', url)).status).toBe(200);
    await owner('PUT', `/v1/checkpoints/${HERE}`, { body: WEIGHTS });
    expect((await owner('PUT', `${url}?kind=manifest`, { body: MANIFEST })).status).toBe(201);
    expect((await other('HEAD', url)).status).toBe(404);
    expect((await other('PUT', `${url}?name=manifest.txt`, { body: MANIFEST })).status).toBe(201);
    expect((await other('HEAD', url)).status).toBe(404);
    expect((await owner('HEAD', url)).status).toBe(200);
    expect(await checkpoints.find(digest)).toMatchObject({ kind: 'directory', files: [{ path: 'weights.bin' }] });
    const isUsable = await fixture.server.fixture.use.findUsable('other', [digest]);
    expect([isUsable({ digest, kind: 'file' }), isUsable({ digest, kind: 'directory' })]).toEqual([true, false]);
  });
});

describe('a grant', () => {
  const grants = `/v1/checkpoints/${HERE}/grants`;

  it('makes the checkpoint available to another principal until it is revoked, and is in the audit', async () => {
    await using fixture = await Fixture.open();
    const [owner, other, admin] = [
      await fixture.as('owner'),
      await fixture.as('eval-team', 'viewer'),
      await fixture.as('admin', 'operator'),
    ];
    await owner('PUT', `/v1/checkpoints/${HERE}${PUT_FILE}`, { body: WEIGHTS });
    const made = await owner('POST', grants, { body: { principal: 'eval-team' } });
    expect(made).toMatchObject({ status: 201, json: { sha256: HERE, principal: 'eval-team', grantedBy: 'owner' } });
    expect((await owner('POST', grants, { body: { principal: 'eval-team' } })).json).toEqual(made.json);
    expect((await other('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(200);
    expect((await owner('GET', grants)).json).toEqual({ items: [made.json] });
    expect(await owner('DELETE', `${grants}/eval-team`)).toMatchObject({ status: 200, json: { items: [made.json] } });
    expect((await other('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(404);
    expect((await owner('DELETE', `${grants}/eval-team`)).json).toEqual({ items: [] });
    const { items } = await fixture.server.fixture.store.audit.list({ limit: 10 });
    const target = `sha256:${HERE}`;
    expect(items.filter(({ action }) => action.startsWith('checkpoint.'))).toMatchObject([
      { principal: 'owner', action: 'checkpoint.revoke-grant', target, details: { principal: 'eval-team', grantedBy: ['owner'] } },
      { principal: 'owner', action: 'checkpoint.grant', target, details: { principal: 'eval-team' } },
    ]);
    expect((await admin('GET', grants)).json).toEqual({ items: [] });
  });

  it('lets a directory and a delta be made of what was granted', async () => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other')];
    await owner('PUT', `/v1/checkpoints/${HERE}${PUT_FILE}`, { body: WEIGHTS });
    await owner('POST', grants, { body: { principal: 'other' } });
    const manifest = Buffer.from(`${HERE}  weights.bin\n`);
    expect((await other('PUT', `/v1/checkpoints/${sha256(manifest)}?kind=manifest`, { body: manifest })).status).toBe(201);
    const next = Buffer.from(WEIGHTS);
    next[7] = 0;
    const body = await encoded('policy.bin', next, WEIGHTS);
    expect((await other('PUT', `/v1/checkpoints/${sha256(next)}?kind=delta&name=policy.bin`, { body })).status).toBe(201);
  });

  it('can be made only by the principal that sent the checkpoint, and by operators', async () => {
    await using fixture = await Fixture.open();
    const [owner, granted, stranger] = [await fixture.as('owner'), await fixture.as('granted'), await fixture.as('stranger')];
    const [viewer, admin] = [await fixture.as('viewer', 'viewer'), await fixture.as('admin', 'operator')];
    const body = { principal: 'friend' };
    await owner('PUT', `/v1/checkpoints/${HERE}${PUT_FILE}`, { body: WEIGHTS });
    await owner('POST', grants, { body: { principal: 'granted' } });
    for (const [method, url] of [
      ['POST', grants],
      ['GET', grants],
      ['DELETE', `${grants}/granted`],
    ] as const) {
      const sent = method === 'POST' ? { body } : {};
      const absent = url.replace(HERE, ABSENT);
      expect(shape(await stranger(method, url, sent), HERE)).toEqual(shape(await stranger(method, absent, sent), ABSENT));
      expect(await stranger(method, url, sent)).toMatchObject({ status: 404, json: { code: 'checkpoint.not-found' } });
      expect(await granted(method, url, sent)).toMatchObject({ status: 403, json: { code: 'grant.not-yours' } });
      expect((await viewer(method, url, sent)).status).toBe(403);
      expect((await admin(method, absent, sent)).status).toBe(404);
    }
    expect(await admin('POST', grants, { body })).toMatchObject({ status: 201, json: { grantedBy: 'admin' } });
    expect((await owner('GET', grants)).json).toMatchObject({ items: [{ principal: 'granted' }] });
    expect((await admin('GET', grants)).json).toMatchObject({ items: [{ principal: 'friend' }, { principal: 'granted' }] });
    expect((await admin('DELETE', `${grants}/granted`)).json).toMatchObject({ items: [{ grantedBy: 'owner' }] });
    expect((await granted('HEAD', `/v1/checkpoints/${HERE}`)).status).toBe(404);
    const bad = await owner('POST', grants, { body: { principal: 'No Such Name' } });
    expect(bad).toMatchObject({ status: 400, json: { errors: [{ field: 'body.principal' }] } });
  });

  it('by the configuration covers one checkpoint, under the name of its first sender', async () => {
    await using fixture = await Fixture.open();
    const [owner, other] = [await fixture.as('owner'), await fixture.as('other')];
    await owner('PUT', `/v1/checkpoints/${HERE}${PUT_FILE}`, { body: WEIGHTS });
    await owner('PUT', `/v1/checkpoints/${ABSENT}${PUT_FILE}`, { body: ABSENT_WEIGHTS });
    const { granted, use } = fixture.server.fixture;
    granted.add(`other sha256:${HERE}`);
    const found = [HERE, ABSENT].map(async (hex) => (await other('HEAD', `/v1/checkpoints/${hex}`)).status);
    expect(await Promise.all(found)).toEqual([200, 404]);
    expect(await use.find('other', parseDigest(`sha256:${HERE}`))).toEqual({ kind: undefined, name: 'policy.bin' });
  });
});
