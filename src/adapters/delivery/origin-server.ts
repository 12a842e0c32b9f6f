import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { Once } from '../../kernel/once.ts';
import type { CheckpointFile } from '../../policy-distribution/checkpoint.ts';
import type { StoredObject } from '../../policy-distribution/files/stored-object.ts';
import type { DeltaEncodedContent } from '../../policy-distribution/delivery/delta-encoded-contents.ts';
import { sendDelta, sendFile } from './origin-answer.ts';
import { parseRequestedDelta } from './requested-delta.ts';
import { SignedLinks, type Linked } from './signed-links.ts';
import { getErrorCode } from '../../kernel/errno.ts';

export interface OriginOptions {
  /** How sandboxes reach it, without a slash at the end. When `port` is 0, without a port: the chosen port is added. */
  readonly url: string;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly linkSeconds: number;
  /** Files that are sent at the same time. Further requests receive a 503 with Retry-After. */
  readonly transfers: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Finds the file with this digest, when it is here. */
  find(digest: Digest): Promise<StoredObject | undefined>;
  /** Encodes the file as a delta from one that the receiver has, where that is much smaller. */
  encode?(linked: Linked, bases: readonly Digest[]): Promise<DeltaEncodedContent | undefined>;
}

/** Counts of the requests and bytes that were served. */
export interface Served {
  requests: number;
  /** Bytes of bodies, including those that broke off. */
  bytes: number;
  /** The bytes of deltas among them. */
  deltaBytes: number;
  /** Answers that were deltas. */
  deltas: number;
}

export const NOTHING_SERVED: Readonly<Served> = { requests: 0, bytes: 0, deltaBytes: 0, deltas: 0 };

/** The connection of a receiver that reads nothing for this long is closed. */
const STALL_MS = 60_000;
/** A refused client may ask again after this time. */
const RETRY_SECONDS = 1;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Serves stored files to holders of a signed link, by ranges, and refuses all else. It listens from the first link on.
 */
export class OriginServer implements AsyncDisposable {
  readonly served: Served = { ...NOTHING_SERVED };
  readonly #options: OriginOptions;
  readonly #links: SignedLinks;
  #sending = 0;
  readonly #server = new Once(() => this.#listen());

  constructor(options: OriginOptions) {
    this.#options = options;
    this.#links = new SignedLinks(options.clock, options.linkSeconds);
  }

  /** @throws InputError `delivery.port` when it is taken; InfrastructureError `delivery.listen`. */
  async link({ digest, path }: Pick<CheckpointFile, 'digest' | 'path'>): Promise<string> {
    const base = await this.#startServer();
    return `${base}${this.#links.sign({ digest, name: path.slice(path.lastIndexOf('/') + 1) })}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = await this.#server.result();
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async #startServer(): Promise<string> {
    const { url, port } = this.#options;
    const address = (await this.#server.run()).address();
    return port === 0 && typeof address === 'object' && address !== null ? `${url}:${address.port}` : url;
  }

  async #listen(): Promise<http.Server> {
    const { host, port } = this.#options;
    const server = http.createServer({ maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 5000 });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#onRequest(request, response));
    server.setTimeout(STALL_MS, (socket) => socket.destroy());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject).listen(port, host, resolve);
    try {
      await promise;
    } catch (error) {
      throw listenError(error, host, port);
    }
    return server;
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.served.requests += 1;
    try {
      if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, 'expected GET or HEAD');
      const verdict = this.#links.verify(request.url ?? '');
      switch (verdict.kind) {
        case 'forged':
          return refuse(response, 403, 'the link was not made by this server, or was changed');
        case 'expired':
          return refuse(response, 403, 'the link has expired');
        case 'good':
          return await this.#sendWithinLimit(request, response, verdict.linked);
      }
    } catch (error) {
      this.#options.log.debug({ error: getMessage(error) }, 'a file was not sent completely');
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'the file cannot be read');
    }
  }

  async #sendWithinLimit(request: IncomingMessage, response: ServerResponse, linked: Linked): Promise<void> {
    if (this.#sending >= this.#options.transfers)
      return refuse(response, 503, 'too many files are being sent at the moment; try again later', { 'retry-after': RETRY_SECONDS });
    this.#sending += 1;
    try {
      await this.#send(request, response, linked);
    } finally {
      this.#sending -= 1;
    }
  }

  async #send(request: IncomingMessage, response: ServerResponse, linked: Linked): Promise<void> {
    const count = (bytes: number): void => void (this.served.bytes += bytes);
    const asked = parseRequestedDelta(request.headers);
    const delta = asked && (await this.#options.encode?.(linked, asked.bases));
    if (delta) {
      this.served.deltas += 1;
      await sendDelta(request, response, delta, (bytes) => {
        count(bytes);
        this.served.deltaBytes += bytes;
      });
      return this.#options.log.debug({ ...linked, base: delta.base, bytes: delta.bytes }, 'a sandbox has fetched a delta');
    }
    if (asked?.isOnly === true) return refuse(response, 406, 'there is no delta of the file to any of the named files');
    const found = await this.#options.find(linked.digest);
    if (!found) return refuse(response, 404, 'the file no longer exists');
    await sendFile(request, response, found, count);
    this.#options.log.debug({ ...linked, range: request.headers.range }, 'a sandbox has fetched a file');
  }
}

function refuse(response: ServerResponse, status: number, problem: string, headers: Readonly<Record<string, string | number>> = {}): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(`${problem}\n`);
}

function listenError(error: unknown, host: string, port: number): Error {
  const code = getErrorCode(error);
  const where = `${host}:${port}`;
  if (code === 'EADDRINUSE')
    return new InputError('delivery.port', `delivery.port: ${where} is taken; name another port, or 0 for any that is free`, {
      cause: error,
    });
  return new InfrastructureError(
    'delivery.listen',
    `delivery: ${where} cannot be used to listen: ${getMessage(error)}; set delivery.host`,
    {
      cause: error,
    },
  );
}
