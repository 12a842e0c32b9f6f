import type { LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Egress, type EgressPolicy } from '../../../src/service/access/egress.ts';
import { CheckedRequests } from '../../../src/adapters/http/checked-requests.ts';
import { SkippableClock } from '../../support/skippable-clock.ts';
import { eventually } from '../../support/eventually.ts';
import { localCertificate, WebServer } from '../../support/web-server.ts';

// These tests are about connections, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());

const signal = new AbortController().signal;
const certificate = localCertificate();
const GET = { method: 'GET', headers: {} } as const;

function requests(policy: Partial<EgressPolicy> = {}, lookup?: LookupFunction, clock = new SkippableClock()): CheckedRequests {
  const egress = new Egress({ hosts: ['*'], networks: ['127.0.0.0/8'], plainHttp: true, ...policy }, 'sources');
  return new CheckedRequests({ egress, clock, ca: certificate.cert, ...(lookup ? { lookup } : {}) });
}

async function bodyOf(sender: CheckedRequests, url: string): Promise<string> {
  using answer = await sender.send(url, GET, signal);
  return await text(answer.body);
}

/** A resolver with an answer for each time that it is asked; the last one stays. */
function resolver(...answers: readonly (readonly string[])[]): LookupFunction & { readonly asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return Object.assign(lookup, { asked });
}

describe('a checked request', () => {
  it('is answered over https and, where that is allowed, http', async () => {
    for (const server of [await WebServer.start(certificate), await WebServer.start()]) {
      await using _ = server;
      server.put('x', Buffer.from('hello'));
      expect(await bodyOf(requests(), server.url('x'))).toBe('hello');
    }
  });

  it('is sent with its body', async () => {
    await using server = await WebServer.start(certificate);
    server.handle('hook', (request, response) => void text(request).then((body) => response.end(`${request.method} ${body}`)));
    using answer = await requests().send(server.url('hook'), { method: 'POST', headers: {}, body: '{"a":1}' }, signal);
    expect(await text(answer.body)).toBe('POST {"a":1}');
  });

  it('does not reach this machine through a name that resolves to it', async () => {
    await using server = await WebServer.start(certificate);
    server.put('x', Buffer.from('inside'));
    const sender = requests({ networks: [] }, resolver(['127.0.0.1']));
    await expect(bodyOf(sender, server.url('x', 'models.example.com'))).rejects.toMatchObject({ kind: 'input', code: 'egress.address' });
    expect(server.asked).toEqual([]);
  });

  it('connects only to the addresses of a name that may be reached', async () => {
    await using server = await WebServer.start(certificate);
    server.put('x', Buffer.from('hello'));
    const lookup = resolver(['10.0.0.1', '169.254.169.254', '127.0.0.1', 'fd00::1']);
    expect(await bodyOf(requests({}, lookup), server.url('x', 'models.example.com'))).toBe('hello');
  });

  it('gains nothing from a name that resolves to another address the next time', async () => {
    await using server = await WebServer.start(certificate);
    server.put('x', Buffer.from('hello'));
    const lookup = resolver(['127.0.0.1'], ['10.0.0.1']);
    const sender = requests({}, lookup);
    expect(await bodyOf(sender, server.url('x', 'models.example.com'))).toBe('hello');
    await expect(bodyOf(sender, server.url('x', 'models.example.com'))).rejects.toMatchObject({ code: 'egress.address' });
    expect(lookup.asked).toEqual(['models.example.com', 'models.example.com']);
  });

  it('does not trust an unknown certificate', async () => {
    await using server = await WebServer.start(localCertificate());
    server.put('x', Buffer.from('hello'));
    await expect(bodyOf(requests(), server.url('x'))).rejects.toMatchObject({ kind: 'infrastructure', code: 'egress.failed' });
  });
});

describe('a redirection', () => {
  it('is followed, also a relative one', async () => {
    await using server = await WebServer.start(certificate);
    server.put('c/x', Buffer.from('hello'));
    server.handle('a', (_, response) => void response.writeHead(302, { location: '/b' }).end());
    server.handle('b', (_, response) => void response.writeHead(307, { location: 'c/x' }).end());
    expect(await bodyOf(requests(), server.url('a'))).toBe('hello');
  });

  it.each([
    ['to an address of this machine', 'https://127.0.0.2:1/x', 'egress.address'],
    ['to a cloud’s metadata', 'https://169.254.169.254/latest/', 'egress.address'],
    ['to a host that is not listed', 'https://elsewhere.example/x', 'egress.host'],
    ['to plain http', 'http://localhost/x', 'egress.scheme'],
    ['to a file', 'file:///etc/passwd', 'egress.scheme'],
    ['to nowhere', 'https://', 'egress.url'],
  ])('%s is refused', async (_, location, code) => {
    await using server = await WebServer.start(certificate);
    server.handle('a', (_request, response) => void response.writeHead(302, { location }).end());
    const policy = { hosts: ['localhost', '127.0.0.2', '169.254.169.254'], networks: ['127.0.0.1/32'] };
    await expect(bodyOf(requests(policy), server.url('a'))).rejects.toMatchObject({ kind: 'input', code });
  });

  it('to a name that resolves to a private address is refused', async () => {
    await using server = await WebServer.start(certificate);
    server.handle('a', (_, response) => void response.writeHead(302, { location: 'https://inside.example/x' }).end());
    const lookup = resolver(['127.0.0.1'], ['10.0.0.1']);
    await expect(bodyOf(requests({}, lookup), server.url('a'))).rejects.toMatchObject({ code: 'egress.address' });
    expect(lookup.asked).toEqual(['localhost', 'inside.example']);
  });

  it('is followed five times at most', async () => {
    await using server = await WebServer.start(certificate);
    server.put('0', Buffer.from('hello'));
    for (let i = 1; i <= 6; i += 1) server.handle(`${i}`, (_, response) => void response.writeHead(302, { location: `/${i - 1}` }).end());
    expect(await bodyOf(requests(), server.url('5'))).toBe('hello');
    await expect(bodyOf(requests(), server.url('6'))).rejects.toMatchObject({ kind: 'input', code: 'egress.redirections' });
  });

  it('of a request with a body is returned as the answer', async () => {
    await using server = await WebServer.start(certificate);
    server.handle('a', (_, response) => void response.writeHead(307, { location: '/b' }).end());
    using answer = await requests().send(server.url('a'), { method: 'POST', headers: {}, body: 'x' }, signal);
    expect(answer.status).toBe(307);
    expect(server.asked).toEqual(['a all']);
  });
});

describe('a server that does not answer', () => {
  it('is given up after half a minute', async () => {
    const clock = new SkippableClock();
    await using server = await WebServer.start(certificate);
    server.handle('x', () => undefined);
    const answer = bodyOf(requests({}, undefined, clock), server.url('x')).catch((error: unknown) => error);
    await eventually('it was asked', () => server.asked.length === 1);
    clock.skip(31_000);
    expect(await answer).toMatchObject({ kind: 'infrastructure', code: 'egress.failed', message: expect.stringContaining('within 30 s') });
    expect(clock.pending).toBe(0);
  });

  it('is not awaited by a caller that has stopped', async () => {
    await using server = await WebServer.start(certificate);
    server.handle('x', () => undefined);
    const stop = new AbortController();
    const answer = requests()
      .send(server.url('x'), GET, stop.signal)
      .catch((error: unknown) => error);
    await eventually('it was asked', () => server.asked.length === 1);
    const reason = new Error('stopped');
    stop.abort(reason);
    expect(await answer).toBe(reason);
    expect(
      await requests()
        .send(server.url('x'), GET, stop.signal)
        .catch((error: unknown) => error),
    ).toBe(reason);
  });

  it('at an address without one is an infrastructure failure', async () => {
    const url = await (async () => {
      await using server = await WebServer.start();
      return server.url('x');
    })();
    await expect(bodyOf(requests(), `${url}?signature=hush`)).rejects.toMatchObject({
      kind: 'infrastructure',
      code: 'egress.failed',
      message: expect.not.stringContaining('hush'),
    });
  });
});
