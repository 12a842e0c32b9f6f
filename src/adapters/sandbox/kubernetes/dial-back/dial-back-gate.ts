import { readFile } from 'node:fs/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Clock } from '../../../../kernel/clock.ts';
import { InputError, getMessage } from '../../../../kernel/errors.ts';
import type { DialBackSettings } from '../settings/pod-template.ts';
import { Heartbeats } from '../exec/heartbeats.ts';
import { DialChannel } from './dial-channel.ts';
import type { DialledContainer } from './dialled-container.ts';
import { PROTOCOL } from './messages.ts';
import { UnidentifiedConnections } from './unidentified-connections.ts';

/** The time from a connection to its complete request, TLS included. */
const HANDSHAKE_MS = 10_000;
const HEADERS_MAX_BYTES = 8 * 1024;
/** A piece of output and its stream's number: a dialler sends 32 KiB at most. */
const MESSAGE_MAX_BYTES = 64 * 1024;
const PATH = /^\/dial-back\/([a-z0-9.-]{1,253})\/([a-z0-9-]{1,63})$/;
const BEARER = /^Bearer ([\w-]{1,128})$/;

export interface GateParts {
  readonly clock: Clock;
  readonly log: (message: string) => void;
}

/** An expected container, and the callback for a token that was presented twice, which another client may know. */
interface Expected {
  readonly container: DialledContainer;
  readonly onTheft: () => void;
}

/**
 * Accepts the connections of containers that dial back. A connection states in its first request which container it is and presents a token that is
 * valid once; every other request is refused before it becomes a WebSocket, and leaves nothing behind.
 */
export class DialBackGate implements AsyncDisposable {
  readonly port: number;
  readonly #server: http.Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MESSAGE_MAX_BYTES,
    perMessageDeflate: false,
    handleProtocols: () => PROTOCOL,
  });
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #heartbeats: Heartbeats;
  readonly #unidentified = new UnidentifiedConnections();
  readonly #expected = new Map<string, Expected>();
  readonly #channels = new Set<DialChannel>();

  private constructor(server: http.Server, { clock, log }: GateParts) {
    const address = server.address();
    this.port = typeof address === 'object' && address !== null ? address.port : 0;
    this.#server = server;
    this.#clock = clock;
    this.#log = log;
    this.#heartbeats = new Heartbeats(clock);
    server.on('connection', (socket: Socket) => this.#unidentified.add(socket));
    server.on('request', (_request, response) => response.writeHead(404).end('nothing is served here\n'));
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => this.#onUpgrade(request, socket, head));
  }

  /** @throws InputError `PROVIDER.dial-back-listen` when it cannot listen there. */
  static async open(settings: DialBackSettings, parts: GateParts): Promise<DialBackGate> {
    const { provider, host, port, certificate, key } = settings;
    const limits = { headersTimeout: HANDSHAKE_MS, requestTimeout: HANDSHAKE_MS, maxHeaderSize: HEADERS_MAX_BYTES };
    try {
      const tls =
        certificate !== undefined && key !== undefined ? { cert: await readFile(certificate), key: await readFile(key) } : undefined;
      const server = tls ? https.createServer({ ...tls, ...limits, handshakeTimeout: HANDSHAKE_MS }) : http.createServer(limits);
      await awaitListening(server, port, host);
      return new DialBackGate(server, parts);
    } catch (error) {
      const problem = `Muster cannot listen on ${host}:${port} for what dials back: ${getMessage(error)}`;
      throw new InputError(
        `${provider}.dial-back-listen`,
        `${problem}; set ${provider}.dialBack.host and port to an address of this machine that is free, and certificate and key to files of PEM`,
        { cause: error },
      );
    }
  }

  /** Lets the container connect, until the result is disposed. */
  expect(pod: string, name: string, container: DialledContainer, onTheft: () => void): Disposable {
    const place = `${pod}/${name}`;
    this.#expected.set(place, { container, onTheft });
    return { [Symbol.dispose]: () => void this.#expected.delete(place) };
  }

  /** The number of open connections. */
  get size(): number {
    return this.#channels.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#expected.clear();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#unidentified.dropAll();
    for (const channel of this.#channels) channel.terminate();
    this.#server.closeAllConnections();
    this.#sockets.close();
    await closed;
    this.#heartbeats[Symbol.dispose]();
  }

  #onUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    this.#unidentified.forget(socket);
    socket.on('error', () => {});
    const [, pod = '', name = ''] = PATH.exec(request.url ?? '') ?? [];
    const [, token = ''] = BEARER.exec(request.headers.authorization ?? '') ?? [];
    const expected = this.#expected.get(`${pod}/${name}`);
    if (!expected) return refuse(socket, 401, 'no such container is expected');
    if (request.headers['sec-websocket-protocol'] !== PROTOCOL) return refuse(socket, 400, `only ${PROTOCOL} is spoken here`);
    switch (expected.container.admit(token)) {
      case 'admitted':
        return this.#sockets.handleUpgrade(request, socket, head, (client) => {
          const channel = new DialChannel(client, this.#clock, this.#heartbeats);
          this.#channels.add(channel);
          void channel.ended.then(() => this.#channels.delete(channel));
          expected.container.arrive(channel);
        });
      case 'spent':
        this.#log(
          `the token of ${pod}, container ${name}, was presented twice (the second time by ${socket.remoteAddress ?? 'an unknown address'})`,
        );
        expected.onTheft();
        return refuse(socket, 401, 'this token was used before');
      case 'unknown':
        return refuse(socket, 401, 'the token is not of this container');
    }
  }
}

async function awaitListening(server: http.Server, port: number, host: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  await promise;
  server.off('error', reject);
}

function refuse(socket: Duplex, code: 400 | 401, why: string): void {
  const body = `${why}\n`;
  // Clients that keep their own side open are not awaited.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${code} Refused\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}
