import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { OriginFixture } from './origin-fixture.ts';

nock.restore();

const WEIGHTS = 'weights '.repeat(1000);

async function asked(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(url, { method, headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

describe('a link to a file', () => {
  it('gives the file, named by its digest, and names it in the URL for people', async () => {
    await using fixture = await OriginFixture.open();
    const file = await fixture.put('actor/policy v2.safetensors', WEIGHTS);
    const url = await fixture.origin.link(file);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/content\/[0-9a-f]{64}\/policy%20v2\.safetensors\?/);
    const { status, text, headers } = await asked(url);
    expect([status, text]).toEqual([200, WEIGHTS]);
    expect(headers.get('etag')).toBe(`"${file.digest.slice('sha256:'.length)}"`);
    expect(fixture.origin.served).toEqual({ requests: 1, bytes: WEIGHTS.length, deltaBytes: 0, deltas: 0 });
  });

  it.each([
    ['bytes=8-15', 206, WEIGHTS.slice(8, 16), 'bytes 8-15/8000'],
    ['bytes=7990-', 206, WEIGHTS.slice(7990), 'bytes 7990-7999/8000'],
    ['bytes=7990-9000', 206, WEIGHTS.slice(7990), 'bytes 7990-7999/8000'],
    ['bytes=-5', 206, WEIGHTS.slice(-5), 'bytes 7995-7999/8000'],
    ['bytes=8000-', 416, '', 'bytes */8000'],
    ['bytes=9-8', 200, WEIGHTS, null],
    ['bytes=0-1,4-5', 200, WEIGHTS, null],
    ['lines=1-2', 200, WEIGHTS, null],
  ])('answers Range: %s with %i', async (range, status, text, contentRange) => {
    await using fixture = await OriginFixture.open();
    const answer = await asked(await fixture.origin.link(await fixture.put('weights', WEIGHTS)), { range });
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([status, text, contentRange]);
  });

  it('sends a part only of the file that the transfer began with, and nothing of a file that the caller has', async () => {
    await using fixture = await OriginFixture.open();
    const url = await fixture.origin.link(await fixture.put('weights', WEIGHTS));
    const etag = (await asked(url, {}, 'HEAD')).headers.get('etag') ?? '';
    expect((await asked(url, { range: 'bytes=1-', 'if-range': etag })).status).toBe(206);
    expect((await asked(url, { range: 'bytes=1-', 'if-range': '"another"' })).status).toBe(200);
    expect((await asked(url, { 'if-none-match': etag })).status).toBe(304);
  });

  it('is valid until it expires, and a transfer that began before then is finished', async () => {
    await using fixture = await OriginFixture.open();
    const url = await fixture.origin.link(await fixture.put('weights', WEIGHTS));
    const begun = await fetch(url);
    await fixture.clock.advance(61_000);
    expect(await begun.text()).toBe(WEIGHTS);
    expect(await asked(url)).toMatchObject({ status: 403, text: 'the link has expired\n' });
  });

  it('is refused when it was changed, used for another file, or signed by another Muster', async () => {
    await using fixture = await OriginFixture.open();
    await using other = await OriginFixture.open();
    const [file, secret] = [await fixture.put('weights', WEIGHTS), await fixture.put('secret', 'secret')];
    const url = new URL(await fixture.origin.link(file));
    const elsewhere = new URL(await other.origin.link(file));
    const changed = (change: (each: URL) => void): string => {
      const each = new URL(url);
      change(each);
      return each.href;
    };
    const hex = (digest: string): string => digest.slice('sha256:'.length);
    const forged = [
      changed((each) => (each.pathname = each.pathname.replace(hex(file.digest), hex(secret.digest)))),
      changed((each) => each.searchParams.set('until', '999999999999')),
      changed((each) => each.searchParams.set('proof', '')),
      changed((each) => each.searchParams.delete('proof')),
      changed((each) => (each.pathname += 'x')),
      changed((each) => (each.pathname = '/v1/evaluations')),
      changed((each) => (each.search = elsewhere.search)),
    ];
    for (const each of forged) expect(await asked(each)).toMatchObject({ status: 403 });
    expect(fixture.origin.served.bytes).toBe(0);
  });

  it('gives nothing but a delta to a caller that has the whole file from elsewhere', async () => {
    await using fixture = await OriginFixture.open();
    const url = await fixture.origin.link(await fixture.put('weights', WEIGHTS));
    const bases = { 'if-none-match': `"${'ab'.repeat(32)}"` };
    expect((await asked(url, { ...bases, 'a-im': 'muster-delta' })).status).toBe(200);
    expect((await asked(url, { ...bases, 'a-im': 'muster-delta, identity;q=0' })).status).toBe(406);
    expect(fixture.origin.served.bytes).toBe(WEIGHTS.length);
  });

  it('to a file that is gone is 404, and other methods than GET and HEAD are refused', async () => {
    await using fixture = await OriginFixture.open();
    const file = await fixture.put('weights', WEIGHTS);
    const url = await fixture.origin.link(file);
    expect((await asked(url, {}, 'POST')).status).toBe(405);
    fixture.forget(file);
    expect((await asked(url)).status).toBe(404);
  });
});

describe('an origin', () => {
  it('sends a bounded number of files at a time, and asks other callers to come again', async () => {
    await using fixture = await OriginFixture.open({ transfers: 1 });
    const large = await fixture.put('large', Buffer.alloc(32 * 2 ** 20));
    const url = await fixture.origin.link(large);
    // Nothing of its body is read: it does not come to its end.
    const held = await fetch(url);
    const refused = await asked(url);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await held.bytes()).length).toBe(large.size);
    await eventually('there is room again', async () => (await asked(url, { range: 'bytes=0-9' })).status === 206);
  });

  it('whose port is taken says so with the remedy', async () => {
    await using fixture = await OriginFixture.open();
    const file = await fixture.put('weights', WEIGHTS);
    const port = Number(new URL(await fixture.origin.link(file)).port);
    await using second = await OriginFixture.open({ port, url: `http://127.0.0.1:${port}` });
    await expect(second.origin.link(file)).rejects.toMatchObject({
      code: 'delivery.port',
      kind: 'input',
      message: expect.stringContaining('0 for any'),
    });
  });
});
