import { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';

/** A peer that answers no ping within this has gone. */
const PING_MS = 30_000;
/** Time for a peer to close the connection when the server ends. */
const GOODBYE_MS = 1000;
const GOING_AWAY = 1001;

interface Waiting {
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Whether Node hands over a request as an upgrade to a WebSocket. Any other request with such a header is answered as if it had none. */
export function isSocketRequest({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Makes WebSockets of requests that routes accept. Such a request goes through the hooks as any other does, so that its caller is known and counted
 * before, and a refusal is an ordinary answer.
 */
export class SocketUpgrades {
  readonly #server: WebSocketServer;
  readonly #waiting = new WeakMap<IncomingMessage, Waiting>();
  readonly #clock: Clock;

  /** @param maxBytes of a message. */
  constructor(app: FastifyInstance, clock: Clock, maxBytes: number) {
    this.#clock = clock;
    this.#server = new WebSocketServer({ noServer: true, maxPayload: maxBytes });
    app.server.on('upgrade', (request, socket, head) => {
      if (!(socket instanceof Socket)) return void socket.destroy();
      this.#waiting.set(request, { socket, head });
      this.#routeUpgrade(app, request, socket);
    });
    app.addHook('preClose', (done) => {
      this.#closeAll();
      done();
    });
  }

  /**
   * Call it before the route answers.
   *
   * @returns undefined when the request was malformed, and has been answered. @throws InputError `request.upgrade` when it does not ask for a
   * WebSocket.
   */
  accept({ raw }: FastifyRequest, reply: FastifyReply): WebSocket | undefined {
    const waiting = this.#waiting.get(raw);
    if (waiting === undefined) throw new InputError('request.upgrade', 'expected a request for a WebSocket (Connection: Upgrade)');
    this.#waiting.delete(raw);
    reply.hijack();
    reply.raw.detachSocket(waiting.socket);
    // `ws` hands the socket over before `handleUpgrade` returns, or answers that the request is malformed.
    const accepted: WebSocket[] = [];
    this.#server.handleUpgrade(raw, waiting.socket, waiting.head, (socket) => accepted.push(socket));
    for (const socket of accepted) this.#watch(socket);
    return accepted[0];
  }

  #routeUpgrade(app: FastifyInstance, request: IncomingMessage, socket: Socket): void {
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    app.routing(request, response);
  }

  #watch(socket: WebSocket): void {
    let isAlive = true;
    const look = (): void => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
      timer = this.#clock.after(PING_MS, look);
    };
    let timer = this.#clock.after(PING_MS, look);
    socket.on('pong', () => (isAlive = true));
    socket.on('error', () => socket.terminate());
    socket.on('close', () => timer[Symbol.dispose]());
  }

  #closeAll(): void {
    for (const socket of this.#server.clients) {
      const timer = this.#clock.after(GOODBYE_MS, () => socket.terminate());
      socket.on('close', () => timer[Symbol.dispose]());
      socket.close(GOING_AWAY, 'Muster is ending');
    }
    this.#server.close();
  }
}
