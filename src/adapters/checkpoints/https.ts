import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { basename } from 'node:path';
import { shown } from '../../access/egress.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, InputError, messageOf, MusterError } from '../../kernel/errors.ts';
import { assertFileName } from '../../policy-distribution/checkpoint-checks.ts';
import { CheckpointChangedError, type CheckpointSource, type ListedFile } from '../../policy-distribution/checkpoint-source.ts';
import type { CheckedAnswer, CheckedRequests } from '../http/checked-requests.ts';

/** A connection over which nothing comes for so long is given up, and the file is gone on with over another. */
const IDLE_MS = 60_000;
/** Connections in a row that bring nothing, and the wait after the first of them; it doubles each time. */
const MOST_FRUITLESS = 4;
const RETRY_MS = 1000;

/** What a server says of a file's version. */
interface Version {
  readonly size: number;
  /** Undefined when the server says nothing by which versions could be told apart. */
  readonly validator: string | undefined;
}

/**
 * Reads checkpoints from web servers: one file a URL. Presigned URLs are fine: all that is asked is GET, and no message has the query. A connection
 * that breaks is gone on with where it broke, as long as the server says that the file is still the same.
 */
export function httpsSource(requests: CheckedRequests, clock: Clock): CheckpointSource {
  /** Addresses are for people, and without queries; what is asked for is kept beside them. */
  const urls = new WeakMap<ListedFile, string>();
  const urlOf = (file: ListedFile): string => urls.get(file) ?? file.address;
  return {
    async list(uri, { signal }) {
      signal.throwIfAborted();
      const path = fileName(uri);
      const { size, validator } = await retried(clock, signal, () => versionOf(requests, uri, signal));
      const file = { path, size, address: shown(uri), revision: validator ?? `unversioned ${randomUUID()}` };
      urls.set(file, uri);
      return { kind: 'file', files: [file] };
    },

    async *read(file, signal) {
      signal.throwIfAborted();
      yield* new Reading(requests, clock, file, urlOf(file), signal).bytes();
      await retried(clock, signal, () => assertUnchanged(requests, file, urlOf(file), signal));
    },
  };
}

/** One file, over as many connections as it takes. */
class Reading {
  readonly #requests: CheckedRequests;
  readonly #clock: Clock;
  readonly #file: ListedFile;
  readonly #url: string;
  readonly #signal: AbortSignal;
  #received = 0;

  constructor(requests: CheckedRequests, clock: Clock, file: ListedFile, url: string, signal: AbortSignal) {
    this.#requests = requests;
    this.#clock = clock;
    this.#file = file;
    this.#url = url;
    this.#signal = signal;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    for (let fruitless = 0; this.#received < this.#file.size;) {
      const before = this.#received;
      try {
        yield* this.#overOneConnection();
        if (this.#received < this.#file.size) throw broken(this.#file.address, `it ended after ${this.#received} bytes`);
      } catch (error) {
        this.#signal.throwIfAborted();
        fruitless = this.#received > before ? 0 : fruitless + 1;
        if (!(error instanceof InfrastructureError) || fruitless === MOST_FRUITLESS || !this.#canGoOn()) throw error;
        await sleep(this.#clock, RETRY_MS * 2 ** fruitless, this.#signal);
      }
    }
  }

  /** Only a strong entity tag promises that what comes over the next connection is the rest of what came over the last. */
  #canGoOn(): boolean {
    return this.#received === 0 || this.#file.revision.startsWith('entity "');
  }

  async *#overOneConnection(): AsyncGenerator<Uint8Array> {
    const range: Record<string, string> = this.#received === 0 ? {} : { range: `bytes=${this.#received}-` };
    using answer = await ask(
      this.#requests,
      this.#url,
      range,
      this.#signal,
      (found) => new CheckpointChangedError(this.#file.address, found),
    );
    assertSame(this.#file, versionIn(answer, this.#file.address));
    // A server that knows no ranges begins anew; what has come before is passed over.
    let passed = answer.status === 206 ? this.#received : 0;
    for await (const chunk of this.#timed(answer)) {
      const known = Math.min(chunk.length, this.#received - passed);
      passed += chunk.length;
      if (known === chunk.length) continue;
      this.#received = passed;
      yield chunk.subarray(known);
    }
  }

  async *#timed({ body }: CheckedAnswer): AsyncGenerator<Uint8Array> {
    const late = (): Error => broken(this.#file.address, `nothing came for ${IDLE_MS / 1000} s`);
    const next = async (): Promise<IteratorResult<unknown, unknown>> => {
      using idle = new Deadline(this.#clock, IDLE_MS, late, this.#signal);
      const onAbort = (): void => void body.destroy(idle.signal.reason);
      idle.signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await iterator.next();
      } catch (error) {
        throw error instanceof MusterError ? error : broken(this.#file.address, messageOf(error), error);
      } finally {
        idle.signal.removeEventListener('abort', onAbort);
      }
    };
    const iterator: AsyncIterator<unknown> = body[Symbol.asyncIterator]();
    for (let item = await next(); item.done !== true; item = await next()) if (item.value instanceof Uint8Array) yield item.value;
  }
}

/** Until there is an answer, or no use in asking. */
async function retried<Value>(clock: Clock, signal: AbortSignal, ask: () => Promise<Value>): Promise<Value> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof InfrastructureError) || failures === MOST_FRUITLESS) throw error;
      await sleep(clock, RETRY_MS * 2 ** failures, signal);
    }
  }
}

async function assertUnchanged(requests: CheckedRequests, file: ListedFile, url: string, signal: AbortSignal): Promise<void> {
  assertSame(file, await versionOf(requests, url, signal, (found) => new CheckpointChangedError(file.address, found)));
}

function assertSame(file: ListedFile, { size, validator }: Version): void {
  if (size !== file.size) throw new CheckpointChangedError(file.address, `it had ${file.size} bytes, and has ${size}`);
  if (validator !== undefined && validator !== file.revision)
    throw new CheckpointChangedError(file.address, `was ${file.revision}, is ${validator}`);
}

/** Asks for a byte: unlike HEAD that is also allowed by URLs that were signed for GET. */
async function versionOf(
  requests: CheckedRequests,
  url: string,
  signal: AbortSignal,
  missing: (found: string) => InputError = (found) =>
    new InputError('checkpoint.missing', `checkpoint: ${shown(url)} does not exist: ${found}; check the URL`),
): Promise<Version> {
  using answer = await ask(requests, url, { range: 'bytes=0-0' }, signal, missing);
  return versionIn(answer, shown(url));
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
  // 416 is what an empty file answers: it has no first byte.
  if (answer.status === 200 || answer.status === 206 || answer.status === 416) return answer;
  answer[Symbol.dispose]();
  throw refused(shown(url), answer.status, missing);
}

function refused(address: string, status: number, missing: (found: string) => InputError): MusterError {
  const found = `the server answered ${status}`;
  if (status === 404 || status === 410) return missing(found);
  if (status === 401 || status === 403)
    return new InputError(
      'checkpoint.unreadable',
      `checkpoint: ${address} may not be read: ${found}; expected a URL that needs no sign-in, such as a presigned one`,
    );
  if (status === 408 || status === 429 || status >= 500) return broken(address, found);
  return new InputError('checkpoint.unreadable', `checkpoint: ${address} cannot be read: ${found}; expected 200 or 206`);
}

function versionIn({ status, headers }: CheckedAnswer, address: string): Version {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new InputError('checkpoint.unreadable', `checkpoint: ${address} comes as ${encoding}; expected its bytes as they are`);
  const size = sizeIn(status, headers);
  if (size === undefined)
    throw new InputError(
      'checkpoint.unreadable',
      `checkpoint: ${address} comes without its size; expected Content-Length or Content-Range`,
    );
  return { size, validator: validatorIn(headers) };
}

function sizeIn(status: number, headers: IncomingHttpHeaders): number | undefined {
  const text =
    status === 200 ? headers['content-length'] : /^bytes [\d*-]+\/(?<size>\d+)$/.exec(headers['content-range'] ?? '')?.groups?.['size'];
  const size = Number(text);
  return text !== undefined && Number.isSafeInteger(size) ? size : undefined;
}

function validatorIn({ etag, 'last-modified': modified }: IncomingHttpHeaders): string | undefined {
  if (etag !== undefined) return `entity ${etag}`;
  return modified === undefined ? undefined : `modified ${modified}`;
}

/** What kind of checkpoint it is follows from the name of the file. */
function fileName(uri: string): string {
  const url = URL.parse(uri);
  let name = '';
  try {
    name = decodeURIComponent(basename(url?.pathname ?? ''));
  } catch {
    // What is no encoding is no name either.
  }
  if (url === null || url.pathname.endsWith('/') || name === '')
    throw new InputError('checkpoint.path', `checkpoint: ${shown(uri)} names no file; expected https://host/…/policy.safetensors`);
  assertFileName(name);
  return name;
}

function broken(address: string, why: string, cause?: unknown): InfrastructureError {
  return new InfrastructureError('checkpoint.read', `checkpoint: reading ${address} failed: ${why}`, { cause });
}
