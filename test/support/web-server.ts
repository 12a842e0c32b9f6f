import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Answers in place of the server's own way. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A key and a certificate for localhost that only the tests trust. */
export function localCertificate(): { readonly key: string; readonly cert: string } {
  const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const names = 'subjectAltName=DNS:localhost,DNS:models.example.com,IP:127.0.0.1';
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=localhost',
  ];
  execFileSync('openssl', [...args, '-addext', names, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(directory, { recursive: true });
  return pair;
}

/** Files over HTTP or HTTPS on this machine, with entity tags and ranges, as web servers and object stores have them. */
export class WebServer implements AsyncDisposable {
  readonly #server: http.Server;
  readonly #files = new Map<string, { readonly bytes: Uint8Array; readonly tag: string }>();
  readonly #handlers = new Map<string, Handler>();
  readonly #isSecure: boolean;
  readonly #asked: string[] = [];
  #writes = 0;

  private constructor(server: http.Server, isSecure: boolean) {
    this.#server = server;
    this.#isSecure = isSecure;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response));
  }

  static async start(certificate?: { readonly key: string; readonly cert: string }): Promise<WebServer> {
    const server = new WebServer(certificate ? https.createServer(certificate) : http.createServer(), certificate !== undefined);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  url(path: string, host = 'localhost'): string {
    return `${this.#isSecure ? 'https' : 'http'}://${host}:${this.port}/${path}`;
  }

  /** What was asked for so far: path and range. */
  get asked(): readonly string[] {
    return this.#asked;
  }

  put(path: string, bytes: Uint8Array): void {
    this.#writes += 1;
    const tag = createHash('sha256').update(bytes).update(String(this.#writes)).digest('hex');
    this.#files.set(path, { bytes, tag: `"${tag}"` });
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  handle(path: string, handler: Handler): void {
    this.#handlers.set(path, handler);
  }

  /** As it would without handlers. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const file = this.#files.get(pathOf(request));
    if (!file) return void response.writeHead(404).end();
    const headers = { etag: file.tag, 'accept-ranges': 'bytes' };
    const { from, to } = /^bytes=(?<from>\d+)-(?<to>\d*)$/.exec(request.headers.range ?? '')?.groups ?? {};
    const size = file.bytes.length;
    if (from === undefined) return void response.writeHead(200, { ...headers, 'content-length': size }).end(file.bytes);
    if (Number(from) >= size) return void response.writeHead(416, { ...headers, 'content-range': `bytes */${size}` }).end();
    const part = file.bytes.subarray(Number(from), to === undefined || to === '' ? size : Number(to) + 1);
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${size}`;
    response.writeHead(206, { ...headers, 'content-length': part.length, 'content-range': range }).end(part);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#asked.push(`${pathOf(request)} ${request.headers.range ?? 'all'}`);
    const handler = this.#handlers.get(pathOf(request));
    if (handler) handler(request, response);
    else this.serve(request, response);
  }
}

function pathOf(request: IncomingMessage): string {
  return decodeURIComponent((request.url ?? '').slice(1).replace(/\?.*$/, ''));
}
