import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { basename } from 'node:path';
import { describeUrl } from '../../service/access/egress.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InputError, type MusterError } from '../../kernel/errors.ts';
import { assertFileName } from '../../policy-distribution/inspection/checkpoint-checks.ts';
import { CheckpointChangedError, type CheckpointSource, type ListedFile } from '../../policy-distribution/checkpoint-source.ts';
import type { CheckedAnswer, CheckedRequests } from '../http/checked-requests.ts';
import { readAnnouncedDigest } from './announced-digest.ts';
import { ResumedReading, type ReopenableFile } from './resumed-reading.ts';
import { createBrokenReadError, retry } from './retries.ts';

/** A server's statement about a file's version. */
interface Version {
  readonly size: number;
  /** It is undefined when the server sends nothing that tells versions apart. */
  readonly validator: string | undefined;
}

/**
 * Reads checkpoints from web servers: one file a URL. Presigned URLs work: all requests are GET, and no message contains the query. A broken
 * connection is resumed where it broke, as long as the server says that the file is unchanged.
 */
export function createHttpsSource(requests: CheckedRequests, clock: Clock): CheckpointSource {
  /** Addresses are for people and have no queries; the requested URLs are kept separately. */
  const urls = new WeakMap<ListedFile, string>();
  const getUrl = (file: ListedFile): string => urls.get(file) ?? file.address;
  return {
    async list(uri, { signal }) {
      signal.throwIfAborted();
      const path = getFileName(uri);
      const { size, validator } = await retry(clock, signal, () => fetchVersion(requests, uri, signal));
      const file = { path, size, address: describeUrl(uri), revision: validator ?? `unversioned ${randomUUID()}` };
      urls.set(file, uri);
      return { kind: 'file', files: [file] };
    },

    async *read(file, signal) {
      signal.throwIfAborted();
      yield* new ResumedReading(toReopenable(requests, file, getUrl(file)), clock, signal).bytes();
      await retry(clock, signal, () => assertUnchanged(requests, file, getUrl(file), signal));
    },

    readFrom: (file, from, signal) => new ResumedReading(toReopenable(requests, file, getUrl(file)), clock, signal, from).bytes(),
  };
}

/** Makes the file at a URL readable over one connection after the other. */
function toReopenable(requests: CheckedRequests, file: ListedFile, url: string): ReopenableFile {
  const createChangedError = (found: string): InputError => new CheckpointChangedError(file.address, found);
  return {
    file,
    // Only a strong entity tag promises that two answers have the same bytes.
    isVersioned: file.revision.startsWith('entity "'),
    async open(from, signal) {
      const range: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
      const answer = await ask(requests, url, range, signal, createChangedError);
      try {
        assertSame(file, parseVersion(answer, file.address));
      } catch (error) {
        answer[Symbol.dispose]();
        throw error;
      }
      return {
        // A server without ranges starts from the beginning.
        from: answer.status === 206 ? from : 0,
        body: answer.body,
        digest: readAnnouncedDigest(answer.headers),
        [Symbol.dispose]: () => answer[Symbol.dispose](),
      };
    },
  };
}

async function assertUnchanged(requests: CheckedRequests, file: ListedFile, url: string, signal: AbortSignal): Promise<void> {
  assertSame(file, await fetchVersion(requests, url, signal, (found) => new CheckpointChangedError(file.address, found)));
}

function assertSame(file: ListedFile, { size, validator }: Version): void {
  if (size !== file.size) throw new CheckpointChangedError(file.address, `it had ${file.size} bytes, and has ${size}`);
  if (validator !== undefined && validator !== file.revision)
    throw new CheckpointChangedError(file.address, `was ${file.revision}, is ${validator}`);
}

/** Requests one byte: unlike HEAD, URLs that were signed for GET allow that. */
async function fetchVersion(
  requests: CheckedRequests,
  url: string,
  signal: AbortSignal,
  missing: (found: string) => InputError = (found) =>
    new InputError('checkpoint.missing', `checkpoint: ${describeUrl(url)} does not exist: ${found}; check the URL`),
): Promise<Version> {
  using answer = await ask(requests, url, { range: 'bytes=0-0' }, signal, missing);
  return parseVersion(answer, describeUrl(url));
}

/** @param missing makes the error for a file that is not there. */
async function ask(
  requests: CheckedRequests,
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  missing: (found: string) => InputError,
): Promise<CheckedAnswer> {
  const answer = await requests.send(url, { method: 'GET', headers: { 'accept-encoding': 'identity', ...headers } }, signal);
  // 416 is the answer for an empty file, which has no first byte.
  if (answer.status === 200 || answer.status === 206 || answer.status === 416) return answer;
  answer[Symbol.dispose]();
  throw createRefusalError(describeUrl(url), answer.status, missing);
}

function createRefusalError(address: string, status: number, missing: (found: string) => InputError): MusterError {
  const found = `the server answered ${status}`;
  if (status === 404 || status === 410) return missing(found);
  if (status === 401 || status === 403)
    return new InputError(
      'checkpoint.unreadable',
      `checkpoint: ${address} may not be read: ${found}; expected a URL that needs no sign-in, such as a presigned one`,
    );
  if (status === 408 || status === 429 || status >= 500) return createBrokenReadError(address, found);
  return new InputError('checkpoint.unreadable', `checkpoint: ${address} cannot be read: ${found}; expected 200 or 206`);
}

function parseVersion({ status, headers }: CheckedAnswer, address: string): Version {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new InputError('checkpoint.unreadable', `checkpoint: ${address} is sent with the encoding ${encoding}; expected none`);
  const size = readSize(status, headers);
  if (size === undefined)
    throw new InputError(
      'checkpoint.unreadable',
      `checkpoint: ${address} is sent without its size; expected Content-Length or Content-Range`,
    );
  return { size, validator: readValidator(headers) };
}

function readSize(status: number, headers: IncomingHttpHeaders): number | undefined {
  const text =
    status === 200 ? headers['content-length'] : /^bytes [\d*-]+\/(?<size>\d+)$/.exec(headers['content-range'] ?? '')?.groups?.['size'];
  const size = Number(text);
  return text !== undefined && Number.isSafeInteger(size) ? size : undefined;
}

function readValidator({ etag, 'last-modified': modified }: IncomingHttpHeaders): string | undefined {
  if (etag !== undefined) return `entity ${etag}`;
  return modified === undefined ? undefined : `modified ${modified}`;
}

/** The kind of checkpoint follows from the file's name. */
function getFileName(uri: string): string {
  const url = URL.parse(uri);
  let name = '';
  try {
    name = decodeURIComponent(basename(url?.pathname ?? ''));
  } catch {
    // An invalid encoding is no name either.
  }
  if (url === null || url.pathname.endsWith('/') || name === '')
    throw new InputError('checkpoint.path', `checkpoint: ${describeUrl(uri)} names no file; expected https://host/…/policy.safetensors`);
  assertFileName(name);
  return name;
}
