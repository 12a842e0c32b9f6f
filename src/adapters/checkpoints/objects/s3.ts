import type { GetObjectCommandOutput, S3Client, _Object } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { getMessage, InputError } from '../../../kernel/errors.ts';
import { readAnnouncedDigest } from '../announced-digest.ts';
import type { OpenedFile } from '../resumed-reading.ts';
import { toObjectStoreError, readNumberIn } from './client-error.ts';
import { ObjectStoreError, type FoundObject, type ObjectPage, type ObjectLocation, type ObjectStore } from './object-store.ts';

export interface S3Settings {
  /** URL of a server with this protocol; Amazon's own when left out. */
  readonly endpoint?: string;
  /** When it is left out, the environment or the profile names it. */
  readonly region?: string;
  /** Whether the bucket is in the path instead of the host's name. */
  readonly pathStyle: boolean;
}

type Commands = typeof import('@aws-sdk/client-s3');
interface Connected {
  readonly client: S3Client;
  readonly commands: Commands;
}

/**
 * Amazon's S3, and servers with its protocol. Credentials come from Amazon's usual chain: AWS_… variables, the profile, the role of the machine or
 * the pod. The client is loaded when the first bucket is named. It does not retry: retries happen in one place for all sources.
 */
export class S3Store implements ObjectStore {
  readonly name = 'S3';
  readonly signIn =
    'sign in (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, a role) with permission to list and read the bucket';
  readonly #settings: S3Settings;
  #connected: Promise<Connected> | undefined;

  constructor(settings: S3Settings) {
    this.#settings = settings;
  }

  async find({ bucket, name }: ObjectLocation, signal: AbortSignal): Promise<FoundObject | undefined> {
    const { client, commands } = await this.#connect();
    try {
      const head = await client.send(new commands.HeadObjectCommand({ Bucket: bucket, Key: name }), { abortSignal: signal });
      return { name, size: head.ContentLength ?? 0, revision: formatRevision(head.ETag) };
    } catch (error) {
      const failure = createS3Error(error);
      if (failure instanceof ObjectStoreError && failure.status === 404) return undefined;
      throw failure;
    }
  }

  async page({ bucket, name: prefix }: ObjectLocation, token: string | undefined, signal: AbortSignal): Promise<ObjectPage> {
    const { client, commands } = await this.#connect();
    const page = token === undefined ? {} : { ContinuationToken: token };
    try {
      const listed = await client.send(new commands.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ...page }), {
        abortSignal: signal,
      });
      return { objects: (listed.Contents ?? []).map(toFoundObject), next: listed.NextContinuationToken };
    } catch (error) {
      throw createS3Error(error);
    }
  }

  async open({ bucket, name }: ObjectLocation, revision: string, from: number, signal: AbortSignal): Promise<OpenedFile> {
    const { client, commands } = await this.#connect();
    const part = from === 0 ? {} : { Range: `bytes=${from}-` };
    const asked = { Bucket: bucket, Key: name, IfMatch: revision.replace(/^entity /, ''), ChecksumMode: 'ENABLED', ...part } as const;
    try {
      const answer = await client.send(new commands.GetObjectCommand(asked), { abortSignal: signal });
      return toOpenedFile(answer, from);
    } catch (error) {
      throw error instanceof ObjectStoreError ? error : createS3Error(error);
    }
  }

  async link({ bucket, name }: ObjectLocation, _revision: string, seconds: number): Promise<string> {
    const { client, commands } = await this.#connect();
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    try {
      return await getSignedUrl(client, new commands.GetObjectCommand({ Bucket: bucket, Key: name }), { expiresIn: seconds });
    } catch (error) {
      throw createS3Error(error);
    }
  }

  async put({ bucket, name }: ObjectLocation, text: string, signal: AbortSignal): Promise<void> {
    const { client, commands } = await this.#connect();
    try {
      const asked = { Bucket: bucket, Key: name, Body: text, ContentType: 'application/json' };
      await client.send(new commands.PutObjectCommand(asked), { abortSignal: signal });
    } catch (error) {
      throw createS3Error(error);
    }
  }

  #connect(): Promise<Connected> {
    this.#connected ??= connect(this.#settings);
    return this.#connected;
  }
}

async function connect({ endpoint, region, pathStyle }: S3Settings): Promise<Connected> {
  const commands = await import('@aws-sdk/client-s3');
  const client = new commands.S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    forcePathStyle: pathStyle,
    maxAttempts: 1,
    followRegionRedirects: true,
  });
  return { client, commands };
}

function toOpenedFile(answer: GetObjectCommandOutput, from: number): OpenedFile {
  const { Body: body } = answer;
  if (!(body instanceof Readable)) throw toObjectStoreError(new Error('it answered without a body'), undefined, false);
  // Listened to even after the last read: the reader reports a connection that breaks later.
  body.on('error', () => undefined);
  const headers = {
    ...(answer.ChecksumSHA256 === undefined ? {} : { 'x-amz-checksum-sha256': answer.ChecksumSHA256 }),
    ...(answer.ChecksumCRC32 === undefined ? {} : { 'x-amz-checksum-crc32': answer.ChecksumCRC32 }),
    ...(answer.ChecksumType === undefined ? {} : { 'x-amz-checksum-type': answer.ChecksumType }),
  };
  return {
    from: answer.ContentRange === undefined ? 0 : from,
    body,
    digest: readAnnouncedDigest(headers),
    // The client checks the announced digest of an answer with the whole file, also for algorithms that Muster does not know.
    isDamage: (error) => getMessage(error).startsWith('Checksum mismatch'),
    [Symbol.dispose]: () => void body.destroy(),
  };
}

function toFoundObject({ Key: name = '', Size: size = 0, ETag: tag }: _Object): FoundObject {
  return { name, size, revision: formatRevision(tag) };
}

function formatRevision(tag: string | undefined): string {
  return `entity ${tag ?? 'unknown'}`;
}

function createS3Error(error: unknown): ObjectStoreError | InputError {
  // The client has no other name for it.
  if (getMessage(error) === 'Region is missing')
    return new InputError(
      'checkpoint.unreadable',
      'checkpoint: S3 needs a region; set AWS_REGION, or sources.s3.region in the configuration',
      {
        cause: error,
      },
    );
  const name = error instanceof Error ? error.name : '';
  const metadata: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, '$metadata') : undefined;
  const status = readNumberIn(metadata, 'httpStatusCode');
  return toObjectStoreError(error, status, name === 'CredentialsProviderError');
}
