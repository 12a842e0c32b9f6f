import { createHash } from 'node:crypto';
import { join } from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Egress } from '../../src/service/access/egress.ts';
import { createHttpsSource } from '../../src/adapters/checkpoints/https.ts';
import { CheckedRequests } from '../../src/adapters/http/checked-requests.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { CheckpointSource, ListedFile } from '../../src/policy-distribution/checkpoint-source.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { checkpointSourceContract } from '../contract/checkpoint-source.ts';
import { eventually } from '../support/eventually.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { localCertificate, WebServer } from '../support/web-server.ts';
import { ScratchDirectory } from './scratch-directory.ts';

// These tests are about connections, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());

const certificate = localCertificate();
const signal = new AbortController().signal;
const WEIGHTS = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 31) % 256));
const NO_DIRECTORIES = { reason: 'a web server lists no directories', error: /does not exist: the server answered 404/ };

function sourceOn(clock: SkippableClock): CheckpointSource {
  const egress = new Egress({ hosts: ['localhost'], networks: ['127.0.0.0/8'], plainHttp: true }, 'sources');
  // Time that is skipped is that of waits between connections: how long one takes is the machine's own affair.
  return createHttpsSource(new CheckedRequests({ egress, clock: systemClock, ca: certificate.cert }), clock);
}

checkpointSourceContract(
  'a web server',
  async () => {
    const server = await WebServer.start(certificate);
    return {
      source: sourceOn(new SkippableClock()),
      uri: (path) => server.url(path),
      put: async (path, bytes) => server.put(path, bytes),
      remove: async (path) => server.remove(path),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
  {
    'an ONNX model comes with the weights that lie beside it, as a directory of the two': {
      reason: 'a URL is one file: a presigned one says nothing of what lies beside it',
      error: /expected \{ kind: 'file', .* to match object \{ kind: 'directory'/,
    },
    'a directory is listed with all that is below it, hidden files included': NO_DIRECTORIES,
    'more files than allowed stop the listing': NO_DIRECTORIES,
    'ignored files and directories are left out and not counted': NO_DIRECTORIES,
  },
);

class Fixture implements AsyncDisposable {
  readonly server: WebServer;
  readonly clock = new SkippableClock();
  readonly source: CheckpointSource;

  private constructor(server: WebServer) {
    this.server = server;
    this.source = sourceOn(this.clock);
  }

  static async open(): Promise<Fixture> {
    const fixture = new Fixture(await WebServer.start(certificate));
    fixture.server.put('policy.bin', WEIGHTS);
    return fixture;
  }

  async listed(path = 'policy.bin'): Promise<ListedFile> {
    const [file] = (await this.source.list(this.server.url(path), { signal, maxFiles: 10 })).files;
    if (!file) throw new Error('nothing is listed');
    return file;
  }

  async read(file: ListedFile): Promise<Buffer> {
    return Buffer.concat(await Array.fromAsync(this.source.read(file, signal)));
  }

  /** Time passes whenever nothing else does: while it waits to try again, or for bytes that do not come. */
  async whileTimePasses<Value>(work: Promise<Value>): Promise<Value> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    work.then(settle, settle);
    let quiet = 0;
    let seen = 0;
    await eventually('it is settled', () => {
      quiet = this.clock.pending > 0 && this.server.asked.length === seen ? quiet + 1 : 0;
      seen = this.server.asked.length;
      if (quiet > 10) this.clock.skip(8000);
      return isSettled;
    });
    return work;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    expect(this.clock.pending, 'timers that were left').toBe(0);
  }
}

describe('a checkpoint on a web server', () => {
  it('is brought into the store under the digest of its bytes', async () => {
    await using fixture = await Fixture.open();
    await using scratch = await ScratchDirectory.make();
    const limits = { maxBytes: 1_000_000, maxFiles: 10 };
    const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: fixture.clock });
    const stored = await store.add(fixture.source, fixture.server.url('policy.bin'), signal);
    expect(stored).toMatchObject({ digest: digestBytes(WEIGHTS), kind: 'file', files: [{ path: 'policy.bin' }] });
  });

  it('that is too large is refused before it is read', async () => {
    await using fixture = await Fixture.open();
    await using scratch = await ScratchDirectory.make();
    const limits = { maxBytes: 99_999, maxFiles: 10 };
    const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: fixture.clock });
    await expect(store.add(fixture.source, fixture.server.url('policy.bin'), signal)).rejects.toMatchObject({
      code: 'checkpoint.too-large',
    });
    expect(fixture.server.asked).toEqual(['policy.bin bytes=0-0']);
  });

  it('has the name in the path, whatever the query and the redirects', async () => {
    await using fixture = await Fixture.open();
    fixture.server.handle('latest/my policy.bin', (_, response) => void response.writeHead(302, { location: '/policy.bin' }).end());
    const file = await fixture.listed('latest/my%20policy.bin?X-Signature=hush');
    expect(file).toMatchObject({ path: 'my policy.bin', size: WEIGHTS.length, address: fixture.server.url('latest/my%20policy.bin') });
    expect(await fixture.read(file)).toEqual(WEIGHTS);
  });

  it('is requested with its query, which no message shows', async () => {
    await using fixture = await Fixture.open();
    fixture.server.handle('signed.bin', (request, response) => {
      if (request.url?.endsWith('?signature=hush')) response.writeHead(200, { 'content-length': 5 }).end('hello');
      else response.writeHead(403).end();
    });
    expect((await fixture.read(await fixture.listed('signed.bin?signature=hush'))).toString()).toBe('hello');
    await expect(fixture.listed('signed.bin?signature=hushhush')).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.unreadable',
      message: expect.not.stringContaining('hush'),
    });
  });

  it.each(['', 'directory/', '%2e%2e%2fx', 'a%00b', '%ff'])('whose URL ends with %j names no file', async (path) => {
    await using fixture = await Fixture.open();
    await expect(fixture.listed(path)).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.path' });
    expect(fixture.server.asked).toEqual([]);
  });

  it.each([
    ['needs a sign-in', 401, {}, 'input', 'checkpoint.unreadable'],
    ['is gone for good', 410, {}, 'input', 'checkpoint.missing'],
    ['comes compressed', 200, { 'content-encoding': 'gzip', 'content-length': 5 }, 'input', 'checkpoint.unreadable'],
    ['does not say how large it is', 200, { 'transfer-encoding': 'chunked' }, 'input', 'checkpoint.unreadable'],
  ] as const)('that %s is refused', async (_, status, headers, kind, code) => {
    await using fixture = await Fixture.open();
    fixture.server.handle('x.bin', (_request, response) => void response.writeHead(status, headers).end('hello'));
    await expect(fixture.listed('x.bin')).rejects.toMatchObject({ kind, code });
  });
});

describe('a server that announces the digest of a file', () => {
  const announce = (fixture: Fixture, header: Record<string, string>): void =>
    fixture.server.handle('policy.bin', (request, response) => {
      for (const [name, value] of Object.entries(header)) response.setHeader(name, value);
      fixture.server.serve(request, response);
    });
  const sha256 = createHash('sha256').update(WEIGHTS).digest('base64');
  const md5 = createHash('md5').update(WEIGHTS).digest('base64');
  const other = createHash('sha256').update('other').digest('base64');

  it.each([
    { 'repr-digest': `sha-512=:xyz:, sha-256=:${sha256}:` },
    { 'x-amz-checksum-sha256': sha256 },
    { 'x-goog-hash': `crc32c=AAAAAA==,md5=${md5}` },
    { 'x-amz-checksum-sha256': other, 'x-amz-checksum-type': 'COMPOSITE' },
    { 'x-goog-hash': 'md5=AAAAAAAAAAAAAAAAAAAAAA==', 'x-goog-stored-content-encoding': 'gzip' },
  ])('is believed where it is that of the bytes that come: %j', async (header) => {
    await using fixture = await Fixture.open();
    announce(fixture, header);
    expect(await fixture.read(await fixture.listed())).toEqual(WEIGHTS);
  });

  it.each([
    { 'repr-digest': `sha-256=:${other}:` },
    { 'x-amz-checksum-sha256': other },
    { 'x-amz-checksum-crc32': 'AAAAAA==' },
    { 'x-goog-hash': 'md5=AAAAAAAAAAAAAAAAAAAAAA==' },
  ])('has sent damaged bytes when theirs is another: %j', async (header) => {
    await using fixture = await Fixture.open();
    announce(fixture, header);
    const file = await fixture.listed();
    const message = expect.stringMatching(/policy\.bin failed: the bytes were damaged on the way/);
    await expect(fixture.read(file)).rejects.toMatchObject({ kind: 'infrastructure', code: 'checkpoint.read', message });
  });
});

describe('a connection that breaks', () => {
  it('is resumed where it broke, as often as it brings something', async () => {
    await using fixture = await Fixture.open();
    const file = await fixture.listed();
    fixture.server.handle('policy.bin', (request, response) => {
      if (request.headers.range === 'bytes=0-0') return fixture.server.serve(request, response);
      breakAfter(fixture.server, request, response, 15_000);
    });
    expect(await fixture.whileTimePasses(fixture.read(file))).toEqual(WEIGHTS);
    const resumed = fixture.server.asked.filter((asked) => /bytes=[1-9]/.test(asked));
    expect(resumed.length).toBeGreaterThan(5);
    expect(resumed.map((asked) => Number(/(\d+)-$/.exec(asked)?.[1])).every((from, i, all) => from >= (all[i - 1] ?? 0))).toBe(true);
  });

  it('is restarted from a server without ranges, and no byte comes twice', async () => {
    await using fixture = await Fixture.open();
    const file = await fixture.listed();
    let times = 0;
    fixture.server.handle('policy.bin', (request, response) => {
      if (request.headers.range === 'bytes=0-0') return fixture.server.serve(request, response);
      delete request.headers.range;
      times += 1;
      if (times === 1) breakAfter(fixture.server, request, response, 30_000);
      else fixture.server.serve(request, response);
    });
    expect(await fixture.whileTimePasses(fixture.read(file))).toEqual(WEIGHTS);
    expect(times).toBe(2);
  });

  it('is not resumed when the file has changed meanwhile', async () => {
    await using fixture = await Fixture.open();
    const file = await fixture.listed();
    let times = 0;
    fixture.server.handle('policy.bin', (request, response) => {
      times += 1;
      if (times > 1) return fixture.server.serve(request, response);
      breakAfter(fixture.server, request, response, 30_000);
      fixture.server.put('policy.bin', WEIGHTS.toReversed());
    });
    const failed = await fixture.whileTimePasses(fixture.read(file).catch((error: unknown) => error));
    expect(failed).toMatchObject({ kind: 'input', code: 'checkpoint.changed', address: file.address });
  });

  it('is not resumed when versions cannot be distinguished', async () => {
    await using fixture = await Fixture.open();
    fixture.server.handle('x.bin', (request, response) => {
      response.writeHead(200, { 'content-length': WEIGHTS.length });
      if (request.headers.range === 'bytes=0-0') response.end(WEIGHTS);
      else response.write(WEIGHTS.subarray(0, 30_000), () => response.destroy());
    });
    const file = await fixture.listed('x.bin');
    expect((await fixture.listed('x.bin')).revision).not.toBe(file.revision);
    await expect(fixture.whileTimePasses(fixture.read(file))).rejects.toMatchObject({ kind: 'infrastructure', code: 'checkpoint.read' });
  });

  it('and brings no byte four times in a row ends the read', async () => {
    await using fixture = await Fixture.open();
    const file = await fixture.listed();
    fixture.server.handle('policy.bin', (_, response) => void response.writeHead(503).end());
    await expect(fixture.whileTimePasses(fixture.read(file))).rejects.toMatchObject({ kind: 'infrastructure', code: 'checkpoint.read' });
    expect(fixture.server.asked.filter((asked) => asked === 'policy.bin all')).toHaveLength(4);
  });

  it('or hangs is given up after a minute, and resumed', async () => {
    await using fixture = await Fixture.open();
    const file = await fixture.listed();
    let times = 0;
    fixture.server.handle('policy.bin', (request, response) => {
      times += 1;
      if (times > 1) return fixture.server.serve(request, response);
      response.writeHead(200, { 'content-length': WEIGHTS.length, etag: file.revision.replace('entity ', '') });
      response.write(WEIGHTS.subarray(0, 30_000));
    });
    expect(await fixture.whileTimePasses(fixture.read(file))).toEqual(WEIGHTS);
    expect(times).toBe(3);
  });
});

/** Sends the head of the answer and the first bytes of its body, then cuts the connection. */
function breakAfter(...[server, request, response, bytes]: [WebServer, ...Parameters<WebServer['serve']>, number]): void {
  const end = response.end.bind(response);
  response.end = (...args: unknown[]): typeof response => {
    const [body] = args;
    if (!(body instanceof Uint8Array)) return end();
    response.write(body.subarray(0, bytes), () => response.destroy());
    return response;
  };
  server.serve(request, response);
}
