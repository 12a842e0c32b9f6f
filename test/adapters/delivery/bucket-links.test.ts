import { Storage } from '@google-cloud/storage';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { GcsStore } from '../../../src/adapters/checkpoints/objects/gcs.ts';
import { ObjectLinks, type ObjectLinksOptions } from '../../../src/adapters/checkpoints/objects/object-links.ts';
import { ObjectSource } from '../../../src/adapters/checkpoints/objects/object-source.ts';
import { ObjectStoreError, type ObjectStore } from '../../../src/adapters/checkpoints/objects/object-store.ts';
import { pullOrder, readPullAnswer } from '../../../src/adapters/sandbox/remote/pull-order.ts';
import { loadConfig } from '../../../src/app/configuration.ts';
import { openOrigin } from '../../../src/app/checkpoints/content-origin.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { silentLog } from '../../../src/kernel/log.ts';
import { CheckpointStore } from '../../../src/policy-distribution/store/checkpoint-store.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { ObjectServer } from '../../support/object-servers.ts';
import { gcsContext, s3Context, useTestCredentials, type Bucket } from '../../support/object-fixture.ts';

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());
useTestCredentials();

const PROJECT = join(import.meta.dirname, '../../..');
const WEIGHTS = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251));
const { signal } = new AbortController();

/** Brings an object into a store, and has it fetched as a sandbox would by the links that it is given afterwards. */
async function fetched(scratch: ScratchDirectory, bucket: Bucket, sources: object, between?: () => Promise<void>) {
  const limits = { maxBytes: 10_000_000, maxFiles: 10 };
  const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: systemClock });
  const { digest } = await store.add(new ObjectSource(bucket.store, systemClock), bucket.uri('run/policy v1.bin'), signal);
  await between?.();
  // As another process that has only the store would know it.
  const [file] = (await store.find(digest))?.files ?? [];
  if (!file) throw new RangeError('it is not there');
  const delivery = { url: 'http://127.0.0.1', host: '127.0.0.1', port: 0, bucketHosts: ['127.0.0.1'] };
  const written = await scratch.put('muster.json', JSON.stringify({ stateDir: scratch.path, delivery, sources }));
  const config = loadConfig({ file: written, environment: { HOME: '/' } });
  await using origin = openOrigin(config, store, systemClock, silentLog);
  if (!origin) throw new RangeError('there is no origin');
  const into = join(scratch.path, 'fetched');
  const running = promisify(execFile)(join(PROJECT, '.venv/bin/python'), ['-I', join(PROJECT, 'runner/pull.py')]);
  running.child.stdin?.end(pullOrder(into, [{ ...file, ...(await origin.link(file, digest, signal)) }], []));
  const { stdout, stderr } = await running;
  return { answer: readPullAnswer(stdout, stderr), served: { ...origin.served }, content: await readFile(join(into, file.path)) };
}

describe.each([gcsContext, s3Context])('a checkpoint from $name', (context) => {
  describe.skipIf(context.missing !== undefined)(`that a sandbox fetches${context.skipped}`, () => {
    let server: ObjectServer;
    beforeAll(async () => {
      server = await context.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    it('is fetched from its bucket, and Muster sends nothing', async () => {
      await using scratch = await ScratchDirectory.make();
      await using bucket = await context.bucket(server);
      await bucket.put('run/policy v1.bin', WEIGHTS);
      const { answer, served, content } = await fetched(scratch, bucket, context.settings(server));
      expect(content.equals(WEIGHTS)).toBe(true);
      expect([answer, served.bytes]).toEqual([{ received: WEIGHTS.length, deltas: 0, fromBuckets: 1 }, 0]);
    });

    it.each([
      ['another one stands there', (bucket: Bucket) => bucket.put('run/policy v1.bin', WEIGHTS.toReversed())],
      ['it is gone there', (bucket: Bucket) => bucket.remove('run/policy v1.bin')],
    ])('is the very one that was brought when by now %s: Muster sends it', async (_, change) => {
      await using scratch = await ScratchDirectory.make();
      await using bucket = await context.bucket(server);
      await bucket.put('run/policy v1.bin', WEIGHTS);
      const { answer, served, content } = await fetched(scratch, bucket, context.settings(server), () => change(bucket));
      expect(content.equals(WEIGHTS)).toBe(true);
      expect([answer.fromBuckets, served.bytes]).toEqual([0, WEIGHTS.length]);
    });
  });
});

/** A store that signs whatever it is asked to. */
function signing(link: ObjectStore['link']): ObjectStore {
  const refuse = (): never => {
    throw new RangeError('only links are asked for');
  };
  return { name: 'a store', signIn: 'sign in', find: refuse, page: refuse, open: refuse, put: refuse, link };
}

function links(options: Partial<ObjectLinksOptions>): ObjectLinks {
  const none = signing(() => Promise.reject(new RangeError('another store is meant')));
  return new ObjectLinks({
    gcs: none,
    s3: none,
    hosts: ['store.test'],
    seconds: 100,
    clock: new ManualClock(),
    log: silentLog,
    ...options,
  });
}

describe('links to objects of buckets', () => {
  const object = { uri: 's3://bucket-a/run/policy.bin', revision: 'entity "1"' };

  it('are signed once for all callers in the first half of their time', async () => {
    const clock = new ManualClock();
    const link = vi.fn<ObjectStore['link']>(async ({ bucket, name }) => `https://${bucket}.store.test/${name}`);
    const made = links({ s3: signing(link), clock });
    for (let i = 0; i < 3; i += 1) expect(await made.to(object, signal)).toBe('https://bucket-a.store.test/run/policy.bin');
    expect(link).toHaveBeenCalledTimes(1);
    await clock.advance(50_000);
    await made.to(object, signal);
    expect(link).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['of what came from no bucket', undefined, 'https://store.test/x', ['store.test']],
    ['to hosts that sandboxes do not reach', object, 'https://another.test/x', ['store.test']],
    ['to a host whose name only ends alike', object, 'https://evilstore.test/x', ['store.test']],
    ['where none is named', object, 'https://store.test/x', []],
  ])('%s are none', async (_, asked, url, hosts) => {
    expect(await links({ s3: signing(async () => url), hosts }).to(asked, signal)).toBeUndefined();
  });

  it('that cannot be signed are left out, and the log says why', async () => {
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (fields: object): void => void warnings.push(fields) };
    const unsigned = new ObjectStoreError('Cannot sign data without `client_email`', undefined, false, {});
    const made = links({ s3: signing(() => Promise.reject(unsigned)), log });
    for (let i = 0; i < 2; i += 1) expect(await made.to(object, signal)).toBeUndefined();
    expect(warnings).toEqual([{ object: object.uri, error: unsigned.message }]);
  });

  it('are given up when the store does not sign them in time', async () => {
    const clock = new ManualClock();
    const asked = links({ s3: signing(() => new Promise(() => undefined)), clock }).to(object, signal);
    await clock.advance(10_000);
    expect(await asked).toBeUndefined();
  });
});

describe('a link to an object of Google Cloud Storage', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('equals that of Google’s own client for the same key, generation, time and name', async () => {
    await using scratch = await ScratchDirectory.make();
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const account = { type: 'service_account', project_id: 'p', client_email: 'muster@p.iam.gserviceaccount.com', private_key: privateKey };
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', await scratch.put('account.json', JSON.stringify(account)));
    const name = "run/policy v1 (copy)*'!~ü%.bin";
    const url = new URL(await new GcsStore({}).link({ bucket: 'bucket-a', name }, 'generation 17', 600));
    const at = (url.searchParams.get('X-Goog-Date') ?? '').replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5');
    const [expected] = await new Storage()
      .bucket('bucket-a')
      .file(name)
      .getSignedUrl({
        version: 'v4',
        action: 'read',
        accessibleAt: at,
        expires: Date.parse(at) + 600_000,
        queryParams: { generation: '17' },
      });
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(180_000);
    expect([url.origin, url.pathname]).toEqual([new URL(expected).origin, new URL(expected).pathname]);
    expect(Object.fromEntries(url.searchParams)).toEqual(Object.fromEntries(new URL(expected).searchParams));
  });
});
