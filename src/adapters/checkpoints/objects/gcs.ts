import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import type { GoogleAuth } from 'google-auth-library';
import { z } from 'zod';
import { systemClock } from '../../../kernel/clock.ts';
import { getMessage } from '../../../kernel/errors.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { readAnswerText } from '../../http/answer-text.ts';
import { readAnnouncedDigest, type AnnouncedDigest } from '../announced-digest.ts';
import type { OpenedFile } from '../resumed-reading.ts';
import { toObjectStoreError, readNumberIn } from './client-error.ts';
import { startCrc32c } from './crc32c.ts';
import { signUrl } from './gcs-link.ts';
import { sendRequest, type StoreRequest } from './store-request.ts';
import { type FoundObject, type ObjectPage, type ObjectLocation, type ObjectStore, ObjectStoreError } from './object-store.ts';

export interface GcsSettings {
  /** URL of a server with this protocol; Google's own when left out. */
  readonly endpoint?: string;
  /** The project of the requests; the credentials' own when left out. */
  readonly project?: string;
}

const GOOGLE = 'https://storage.googleapis.com';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const PAGE_OBJECTS = 1000;
/** A page of the longest names has some megabytes. */
const ANSWER_MAX_BYTES = 32 * 2 ** 20;

const objectSchema = z.object({ name: z.string(), size: z.coerce.number(), generation: z.coerce.string() });
const pageSchema = z.object({ items: z.array(objectSchema).default([]), nextPageToken: z.string().optional() });
const refusalSchema = z.object({ error: z.object({ message: z.string() }) });

/**
 * Google Cloud Storage, by its JSON API (https://cloud.google.com/storage/docs/json_api). Google's library finds the credentials:
 * GOOGLE_APPLICATION_CREDENTIALS, those of `gcloud`, the machine's own identity. The five calls that Muster needs are made here: Google's client for
 * storage brings 31 packages for them. Retries happen in one place for all sources.
 */
export class GcsStore implements ObjectStore {
  readonly name = 'Google Cloud Storage';
  readonly signIn =
    'sign in ("gcloud auth application-default login", GOOGLE_APPLICATION_CREDENTIALS) with permission to list and read the bucket';
  readonly #settings: GcsSettings;
  readonly #endpoint: string;
  #auth: Promise<GoogleAuth> | undefined;

  constructor(settings: GcsSettings) {
    this.#settings = settings;
    this.#endpoint = (settings.endpoint ?? GOOGLE).replace(/\/+$/, '');
  }

  async find(place: ObjectLocation, signal: AbortSignal): Promise<FoundObject | undefined> {
    try {
      return toFoundObject(await this.#read(objectSchema, this.#buildObjectUrl(place), signal));
    } catch (error) {
      const failure = createGcsError(error);
      if (failure.status === 404) return undefined;
      throw failure;
    }
  }

  async page({ bucket, name: prefix }: ObjectLocation, token: string | undefined, signal: AbortSignal): Promise<ObjectPage> {
    const query = { prefix, maxResults: String(PAGE_OBJECTS), ...(token === undefined ? {} : { pageToken: token }) };
    try {
      const { items, nextPageToken } = await this.#read(pageSchema, this.#buildUrl(`/storage/v1/b/${bucket}/o`, query), signal);
      return { objects: items.map(toFoundObject), next: nextPageToken };
    } catch (error) {
      throw createGcsError(error);
    }
  }

  async open(place: ObjectLocation, revision: string, from: number, signal: AbortSignal): Promise<OpenedFile> {
    const range: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
    try {
      // Bytes as they are stored, also when they are stored compressed: sizes and digests are of those.
      const headers = { ...range, 'accept-encoding': 'gzip' };
      const answer = await this.#send(this.#buildContentUrl(place, revision), { method: 'GET', headers }, signal);
      return {
        from: answer.statusCode === 206 ? from : 0,
        body: answer,
        digest:
          readAnnouncedDigest({ ...answer.headers, 'x-goog-stored-content-encoding': undefined }) ?? readAnnouncedCrc32c(answer.headers),
        [Symbol.dispose]: () => void answer.destroy(),
      };
    } catch (error) {
      throw createGcsError(error);
    }
  }

  async link(place: ObjectLocation, revision: string, seconds: number): Promise<string> {
    if (!this.#isSigned) return this.#buildContentUrl(place, revision).href;
    try {
      const query = { generation: getGeneration(revision) };
      return await signUrl(await this.#createAuth(), { endpoint: this.#endpoint, place, query, seconds, now: systemClock.date() });
    } catch (error) {
      throw createGcsError(error);
    }
  }

  async put({ bucket, name }: ObjectLocation, text: string, signal: AbortSignal): Promise<void> {
    const url = this.#buildUrl(`/upload/storage/v1/b/${bucket}/o`, { uploadType: 'media', name });
    try {
      const headers = { 'content-type': 'application/json' };
      (await this.#send(url, { method: 'POST', headers, body: text }, signal)).resume();
    } catch (error) {
      throw createGcsError(error);
    }
  }

  /** Servers other than Google's must not receive Google's credentials. */
  get #isSigned(): boolean {
    return /(^|\.)googleapis\.com$/.test(new URL(this.#endpoint).hostname);
  }

  async #read<Answer>(schema: z.ZodType<Answer>, url: URL, signal: AbortSignal): Promise<Answer> {
    const answer = addAbortSignal(signal, await this.#send(url, { method: 'GET', headers: {} }, signal));
    return schema.parse(tryParseJson(await readAnswerText(answer, ANSWER_MAX_BYTES)));
  }

  /** @throws ObjectStoreError for a status that is no success. */
  async #send(url: URL, request: StoreRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const signature = this.#isSigned ? Object.fromEntries(await (await this.#createAuth()).getRequestHeaders(url)) : {};
    const answer = await sendRequest(url, { ...request, headers: { ...signature, ...request.headers } }, signal);
    const { statusCode: status = 0, statusMessage = '' } = answer;
    if (status >= 200 && status < 300) return answer;
    const said = refusalSchema.safeParse(tryParseJson(await readAnswerText(addAbortSignal(signal, answer), ANSWER_MAX_BYTES)));
    throw toObjectStoreError(new Error(said.success ? said.data.error.message : statusMessage), status, false);
  }

  #buildObjectUrl({ bucket, name }: ObjectLocation, query: Readonly<Record<string, string>> = {}): URL {
    return this.#buildUrl(`/storage/v1/b/${bucket}/o/${encodeURIComponent(name)}`, query);
  }

  #buildContentUrl(place: ObjectLocation, revision: string): URL {
    return this.#buildObjectUrl(place, { alt: 'media', generation: getGeneration(revision) });
  }

  #buildUrl(path: string, query: Readonly<Record<string, string>>): URL {
    const url = new URL(`${this.#endpoint}${path}`);
    url.search = new URLSearchParams(query).toString();
    return url;
  }

  #createAuth(): Promise<GoogleAuth> {
    this.#auth ??= createAuth(this.#settings);
    return this.#auth;
  }
}

/** The library is loaded when the first bucket is named. */
async function createAuth({ project }: GcsSettings): Promise<GoogleAuth> {
  const { GoogleAuth } = await import('google-auth-library');
  return new GoogleAuth({ scopes: [SCOPE], ...(project === undefined ? {} : { projectId: project }) });
}

function getGeneration(revision: string): string {
  return revision.replace(/^generation /, '');
}

/** Objects that were composed of parts have no other digest. */
function readAnnouncedCrc32c(headers: IncomingHttpHeaders): AnnouncedDigest | undefined {
  const base64 = /(?:^|[\s,])crc32c=(?<base64>[\w+/]{6}==)/.exec(String(headers['x-goog-hash'] ?? ''))?.groups?.['base64'];
  return base64 === undefined ? undefined : { algorithm: 'crc32c', base64, start: startCrc32c };
}

function toFoundObject({ name, size, generation }: z.infer<typeof objectSchema>): FoundObject {
  return { name, size, revision: `generation ${generation}` };
}

function createGcsError(error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error;
  const status = readNumberIn(error, 'status') ?? readNumberIn(error, 'code');
  return toObjectStoreError(error, status, getMessage(error).includes('Could not load the default credentials'));
}
