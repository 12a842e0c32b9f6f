import { S3Client, CreateBucketCommand, DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { Storage } from '@google-cloud/storage';
import { randomUUID } from 'node:crypto';
import { GcsStore } from '../../src/adapters/checkpoints/objects/gcs.ts';
import type { ObjectStore } from '../../src/adapters/checkpoints/objects/object-store.ts';
import { S3Store } from '../../src/adapters/checkpoints/objects/s3.ts';
import { noGcsHere, noS3Here, startGcs, startS3, type ObjectServer } from './object-servers.ts';

/** A bucket of a local server: written by the vendor's own client, read by Muster's adapter. */
export interface Bucket extends AsyncDisposable {
  /** As Muster reads it. */
  readonly store: ObjectStore;
  uri(name: string): string;
  put(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  get(name: string): Promise<string>;
}

/** One kind of object store, for a test file. */
export interface ObjectContext {
  readonly name: string;
  readonly scheme: 'gs' | 's3';
  /** Why there is none here. */
  readonly missing: string | undefined;
  /** The same for titles. */
  readonly skipped: string;
  start(): Promise<ObjectServer>;
  /** What a configuration says to reach it. */
  settings(server: ObjectServer): object;
  /** A new, empty bucket. @param url that Muster reaches the server by, when it is another one. */
  bucket(server: ObjectServer, url?: string): Promise<Bucket>;
}

/** Dummy credentials: the local servers look at none, and nothing of this machine's is to be used. */
export const NO_CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

export const gcsContext: ObjectContext = {
  name: 'Google Cloud Storage',
  scheme: 'gs',
  missing: noGcsHere,
  skipped: skippedBecause(noGcsHere),
  start: startGcs,
  settings: ({ url }) => ({ gcs: { endpoint: url, project: 'test' } }),
  async bucket(server, url = server.url) {
    const client = new Storage({ apiEndpoint: server.url, projectId: 'test' });
    const [bucket] = await client.createBucket(`test-${randomUUID()}`);
    return {
      store: new GcsStore({ endpoint: url, project: 'test' }),
      uri: (name) => `gs://${bucket.name}/${name}`,
      put: (name, bytes) => bucket.file(name).save(Buffer.from(bytes), { resumable: false }),
      remove: async (name) => void (await bucket.file(name).delete()),
      get: async (name) => (await bucket.file(name).download()).toString(),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
};

export const s3Context: ObjectContext = {
  name: 'S3',
  scheme: 's3',
  missing: noS3Here,
  skipped: skippedBecause(noS3Here),
  start: startS3,
  settings: ({ url }) => ({ s3: { endpoint: url, region: 'us-east-1', pathStyle: true } }),
  async bucket(server, url = server.url) {
    const client = new S3Client({ endpoint: server.url, region: 'us-east-1', forcePathStyle: true, credentials: NO_CREDENTIALS });
    const bucket = `test-${randomUUID()}`;
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    return {
      store: new S3Store({ endpoint: url, region: 'us-east-1', pathStyle: true }),
      uri: (name) => `s3://${bucket}/${name}`,
      put: async (name, bytes) => void (await client.send(new PutObjectCommand({ Bucket: bucket, Key: name, Body: bytes }))),
      remove: async (name) => void (await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: name }))),
      get: async (name) => (await (await client.send(new GetObjectCommand({ Bucket: bucket, Key: name }))).Body?.transformToString()) ?? '',
      [Symbol.asyncDispose]: async () => client.destroy(),
    };
  },
};

/** What the chain of credentials finds first, so that it looks no further. */
export function useTestCredentials(): void {
  process.env['AWS_ACCESS_KEY_ID'] = NO_CREDENTIALS.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = NO_CREDENTIALS.secretAccessKey;
}

function skippedBecause(reason: string | undefined): string {
  return reason === undefined ? '' : ` (cannot: ${reason})`;
}
