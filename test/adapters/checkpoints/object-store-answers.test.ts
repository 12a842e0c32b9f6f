import nock from 'nock';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { GcsStore } from '../../../src/adapters/checkpoints/objects/gcs.ts';
import { ObjectSource } from '../../../src/adapters/checkpoints/objects/object-source.ts';
import { S3Store } from '../../../src/adapters/checkpoints/objects/s3.ts';
import type { CheckpointListing, ListedFile } from '../../../src/policy-distribution/checkpoint-source.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { useTestCredentials } from '../../support/object-fixture.ts';

useTestCredentials();
afterEach(() => nock.cleanAll());

const ENDPOINT = 'http://objects.test';
const NO_SUCH_BUCKET = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>`;
const signal = new AbortController().signal;
const options = { signal, maxFiles: 10 };

function gcs(allowed?: readonly string[]): ObjectSource {
  return new ObjectSource(new GcsStore({ endpoint: ENDPOINT, project: 'test' }), new ManualClock(), allowed);
}

function s3(allowed?: readonly string[]): ObjectSource {
  return new ObjectSource(new S3Store({ endpoint: ENDPOINT, region: 'us-east-1', pathStyle: true }), new ManualClock(), allowed);
}

const list = (source: ObjectSource, uri: string): Promise<CheckpointListing> => source.list(uri, options);

describe('an object store that answers', () => {
  it.each([401, 403])('%s says who may not read which object, and how to sign in', async (status) => {
    nock(ENDPOINT)
      .get('/storage/v1/b/bucket/o/x.bin')
      .reply(status, { error: { message: 'no' } });
    await expect(list(gcs(), 'gs://bucket/x.bin')).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.unreadable',
      message: expect.stringMatching(/gs:\/\/bucket\/x\.bin .*gcloud auth/),
    });
    nock(ENDPOINT).head('/bucket/x.bin').reply(status);
    await expect(list(s3(), 's3://bucket/x.bin')).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.unreadable',
      message: expect.stringMatching(/s3:\/\/bucket\/x\.bin .*AWS_ACCESS_KEY_ID/),
    });
  });

  it('without a region says where to set one', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_DEFAULT_REGION', undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent');
    const source = new ObjectSource(new S3Store({ pathStyle: true }), new ManualClock());
    await expect(list(source, 's3://bucket/x.bin')).rejects.toMatchObject({
      kind: 'input',
      message: 'checkpoint: S3 needs a region; set AWS_REGION, or sources.s3.region in the configuration',
    });
    vi.unstubAllEnvs();
  });

  it('names a bucket that does not exist', async () => {
    nock(ENDPOINT)
      .get('/storage/v1/b/nowhere/o')
      .query(true)
      .reply(404, { error: { code: 404, message: 'no bucket' } });
    await expect(list(gcs(), 'gs://nowhere/run/')).rejects.toMatchObject({
      code: 'checkpoint.missing',
      message: expect.stringContaining('gs://nowhere/run/'),
    });
    nock(ENDPOINT).get('/nowhere/').query(true).reply(404, NO_SUCH_BUCKET);
    await expect(list(s3(), 's3://nowhere/run/')).rejects.toMatchObject({
      code: 'checkpoint.missing',
      message: expect.stringContaining('s3://nowhere/run/'),
    });
  });

  it('with pages gets a request for every page', async () => {
    const item = (name: string): object => ({ name, size: '1', generation: '7' });
    nock(ENDPOINT)
      .get('/storage/v1/b/bucket/o')
      .query((query) => query['pageToken'] === undefined)
      .reply(200, { items: [item('run/a')], nextPageToken: 'more' });
    nock(ENDPOINT)
      .get('/storage/v1/b/bucket/o')
      .query((query) => query['pageToken'] === 'more')
      .reply(200, { items: [item('run/b'), item('run/')] });
    expect((await list(gcs(), 'gs://bucket/run/')).files).toEqual([
      { path: 'a', size: 1, address: 'gs://bucket/run/a', revision: 'generation 7', isSettled: true, isInBucket: true },
      { path: 'b', size: 1, address: 'gs://bucket/run/b', revision: 'generation 7', isSettled: true, isInBucket: true },
    ]);
  });

  it('with names that would leave the checkpoint is refused', async () => {
    nock(ENDPOINT)
      .get('/storage/v1/b/bucket/o')
      .query(true)
      .reply(200, { items: [{ name: 'run/../../etc/passwd', size: '1', generation: '7' }] });
    await expect(list(gcs(), 'gs://bucket/run/')).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.path' });
  });

  it('with the bytes of another object than it announces is an error', async () => {
    const file: ListedFile = { path: 'x.bin', size: 3, address: 'gs://bucket/x.bin', revision: 'generation 7' };
    const media = nock(ENDPOINT).get('/storage/v1/b/bucket/o/x.bin').query({ alt: 'media', generation: '7' });
    media.reply(200, 'abd', { 'content-length': '3', 'x-goog-hash': 'crc32c=Nks/tw==' });
    await expect(Array.fromAsync(gcs().read(file, signal))).rejects.toMatchObject({
      code: 'checkpoint.read',
      message: expect.stringMatching(/gs:\/\/bucket\/x\.bin.*crc32c/),
    });
  });

  it('with the bytes that it announces is read, also for an object made of parts', async () => {
    const file: ListedFile = { path: 'x.bin', size: 3, address: 'gs://bucket/x.bin', revision: 'generation 7' };
    nock(ENDPOINT)
      .get('/storage/v1/b/bucket/o/x.bin')
      .query({ alt: 'media', generation: '7' })
      .reply(200, 'abc', { 'content-length': '3', 'x-goog-hash': 'crc32c=Nks/tw==' });
    nock(ENDPOINT).get('/storage/v1/b/bucket/o/x.bin').reply(200, { name: 'x.bin', size: '3', generation: '7' });
    expect(Buffer.concat(await Array.fromAsync(gcs().read(file, signal))).toString()).toBe('abc');
  });
});

describe('a caller who names a bucket', () => {
  it.each([
    'gs://private/x',
    'gs://team-models-2/x',
    'gs://team',
    's3://team-models/x',
    's3://runs/other/x',
    's3://runs/mine',
    's3://runs',
  ])('may not have %s read with the server’s credentials', async (uri) => {
    const allowed = ['gs://team-models', 's3://runs/mine/'];
    const source = uri.startsWith('gs:') ? gcs(allowed) : s3(allowed);
    await expect(list(source, uri)).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.outside' });
    const file: ListedFile = { path: 'x', size: 1, address: uri, revision: 'generation 1' };
    await expect(Array.fromAsync(source.read(file, signal))).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.outside' });
  });

  it('can read only buckets that the operator has listed', async () => {
    nock(ENDPOINT).get('/storage/v1/b/team-models/o/x').reply(200, { name: 'x', size: '1', generation: '7' });
    expect((await list(gcs(['gs://team-models']), 'gs://team-models/x')).files).toMatchObject([{ path: 'x' }]);
  });

  it.each(['gs://', 'gs:///x', 'gs://B/x', 'gs://user:password@bucket/x', 'gs://..'])('learns that %s names no object', async (uri) => {
    await expect(list(gcs(), uri)).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.uri' });
  });
});
