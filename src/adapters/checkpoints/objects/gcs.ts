import type { Bucket, Storage } from '@google-cloud/storage';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { systemClock } from '../../../kernel/clock.ts';
import { messageOf } from '../../../kernel/errors.ts';
import { readAnnouncedDigest, type AnnouncedDigest } from '../announced-digest.ts';
import type { OpenedFile } from '../resumed-reading.ts';
import { clientError, numberIn } from './client-error.ts';
import { getStored } from './stored-bytes.ts';
import type { FoundObject, ObjectPage, ObjectPlace, ObjectStore } from './object-store.ts';

export interface GcsSettings {
  /** URL of a server that speaks the protocol; Google's own when left out. */
  readonly endpoint?: string;
  /** Whose the requests are; the credentials' own when left out. */
  readonly project?: string;
}

/** Its answer is some megabytes for the longest names. */
const PAGE_OBJECTS = 1000;

/**
 * Google Cloud Storage. Who asks is found out as everywhere with Google: GOOGLE_APPLICATION_CREDENTIALS, what `gcloud` knows, the machine's own
 * identity. The client is loaded when the first bucket is named. It tries nothing again by itself: that is decided in one place for all sources.
 * Bytes are asked for beside it: a stream of the client's that is given up before there is an answer ends the process.
 */
export class GcsStore implements ObjectStore {
  readonly name = 'Google Cloud Storage';
  readonly signIn =
    'sign in ("gcloud auth application-default login", GOOGLE_APPLICATION_CREDENTIALS) as one who may list and read the bucket';
  readonly #settings: GcsSettings;
  #client: Promise<Storage> | undefined;

  constructor(settings: GcsSettings) {
    this.#settings = settings;
  }

  async find({ bucket, name }: ObjectPlace): Promise<FoundObject | undefined> {
    const file = (await this.#bucket(bucket)).file(name);
    try {
      const [metadata] = await file.getMetadata();
      return toFoundObject(name, metadata);
    } catch (error) {
      const told = gcsError(error);
      if (told.status === 404) return undefined;
      throw told;
    }
  }

  async page({ bucket, name: prefix }: ObjectPlace, token: string | undefined): Promise<ObjectPage> {
    const page = { ...(token === undefined ? {} : { pageToken: token }), maxResults: PAGE_OBJECTS, autoPaginate: false };
    const from = await this.#bucket(bucket);
    try {
      const [files, next] = await from.getFiles({ prefix, ...page });
      const following: unknown = next && Reflect.get(next, 'pageToken');
      return {
        objects: files.map(({ name, metadata }) => toFoundObject(name, metadata)),
        next: typeof following === 'string' ? following : undefined,
      };
    } catch (error) {
      throw gcsError(error);
    }
  }

  async open({ bucket, name }: ObjectPlace, revision: string, from: number, signal: AbortSignal): Promise<OpenedFile> {
    const client = await this.#connect();
    const url = contentUrl(client, { bucket, name }, revision);
    const range: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
    let answer: IncomingMessage;
    try {
      const signature = this.#isSigned ? Object.fromEntries(await client.authClient.getRequestHeaders(url)) : {};
      // Bytes as they are stored, also of what was stored compressed: sizes and digests are of those.
      answer = await getStored(url, { ...signature, ...range, 'accept-encoding': 'gzip' }, signal);
    } catch (error) {
      throw gcsError(error);
    }
    const { statusCode: status, headers } = answer;
    if (status === 200 || status === 206) {
      return {
        from: status === 206 ? from : 0,
        body: answer,
        digest: readAnnouncedDigest({ ...headers, 'x-goog-stored-content-encoding': undefined }) ?? (await readAnnouncedCrc32c(headers)),
        [Symbol.dispose]: () => void answer.destroy(),
      };
    }
    answer.destroy();
    throw clientError(new Error(answer.statusMessage), status, false);
  }

  async link({ bucket, name }: ObjectPlace, revision: string, seconds: number): Promise<string> {
    const client = await this.#connect();
    if (!this.#isSigned) return contentUrl(client, { bucket, name }, revision).href;
    const terms = { version: 'v4', action: 'read', expires: new Date(systemClock.date().getTime() + seconds * 1000) } as const;
    try {
      const [url] = await client
        .bucket(bucket)
        .file(name)
        .getSignedUrl({ ...terms, queryParams: { generation: generationOf(revision) } });
      return url;
    } catch (error) {
      throw gcsError(error);
    }
  }

  async put({ bucket, name }: ObjectPlace, text: string): Promise<void> {
    const file = (await this.#bucket(bucket)).file(name);
    try {
      await file.save(text, { resumable: false, contentType: 'application/json' });
    } catch (error) {
      throw gcsError(error);
    }
  }

  /** Servers that are not Google's are asked without credentials: they are none of theirs. */
  get #isSigned(): boolean {
    const { endpoint } = this.#settings;
    return endpoint === undefined || /(^|\.)googleapis\.com$/.test(new URL(endpoint).hostname);
  }

  async #bucket(name: string): Promise<Bucket> {
    return (await this.#connect()).bucket(name);
  }

  #connect(): Promise<Storage> {
    this.#client ??= this.#createClient();
    return this.#client;
  }

  async #createClient(): Promise<Storage> {
    const { Storage } = await import('@google-cloud/storage');
    const { endpoint, project } = this.#settings;
    return new Storage({
      ...(endpoint === undefined ? {} : { apiEndpoint: endpoint, useAuthWithCustomEndpoint: this.#isSigned }),
      ...(project === undefined ? {} : { projectId: project }),
      retryOptions: { autoRetry: false, maxRetries: 0 },
    });
  }
}

function contentUrl({ baseUrl }: Storage, { bucket, name }: ObjectPlace, revision: string): URL {
  const url = new URL(`${baseUrl}/b/${bucket}/o/${encodeURIComponent(name)}`);
  url.search = new URLSearchParams({ alt: 'media', generation: generationOf(revision) }).toString();
  return url;
}

function generationOf(revision: string): string {
  return revision.replace(/^generation /, '');
}

/** Of objects that were put together of parts, which have no other. */
async function readAnnouncedCrc32c(headers: IncomingHttpHeaders): Promise<AnnouncedDigest | undefined> {
  const base64 = /(?:^|[\s,])crc32c=(?<base64>[\w+/]{6}==)/.exec(String(headers['x-goog-hash'] ?? ''))?.groups?.['base64'];
  if (base64 === undefined) return undefined;
  const { CRC32C } = await import('@google-cloud/storage');
  return {
    algorithm: 'crc32c',
    base64,
    start: () => {
      const running = new CRC32C();
      return {
        update: (chunk) => running.update(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)),
        base64: () => running.toString(),
      };
    },
  };
}

function toFoundObject(name: string, { size, generation }: { readonly size?: unknown; readonly generation?: unknown }): FoundObject {
  return { name, size: Number(size), revision: `generation ${String(generation)}` };
}

function gcsError(error: unknown): ReturnType<typeof clientError> {
  const answer: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'response') : undefined;
  return clientError(
    error,
    numberIn(error, 'code') ?? numberIn(answer, 'statusCode'),
    messageOf(error).includes('Could not load the default credentials'),
  );
}
