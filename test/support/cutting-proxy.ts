import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between a client and a server, and breaks connections. */
export class CuttingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #traffic: { sent: number };

  private constructor(url: string, server: Server, sockets: Set<Socket>, traffic: { sent: number }) {
    this.url = url;
    this.#traffic = traffic;
    this.#server = server;
    this.#sockets = sockets;
  }

  /**
   * @param cuts of the connections that carry more than a request without a body: bytes of the client that each lets through before it
   * breaks. When there are none left, nothing breaks.
   */
  static async open(target: string, cuts: readonly number[]): Promise<CuttingProxy> {
    const left = [...cuts];
    const sockets = new Set<Socket>();
    const traffic = { sent: 0 };
    const server = createServer((client) => {
      const upstream = connect(Number(new URL(target).port), '127.0.0.1');
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      }
      upstream.pipe(client);
      let budget: number | undefined;
      client.on('data', (chunk) => {
        traffic.sent += chunk.length;
        if (chunk.subarray(0, 3).toString() === 'PUT') budget = left.shift();
        if (budget === undefined) return void upstream.write(chunk);
        upstream.write(chunk.subarray(0, budget));
        budget -= chunk.length;
        if (budget <= 0) client.destroy();
        if (budget <= 0) upstream.end();
      });
      client.on('close', () => upstream.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the proxy has no address');
    return new CuttingProxy(`http://127.0.0.1:${address.port}`, server, sockets, traffic);
  }

  /** Bytes of all clients so far. */
  get sentBytes(): number {
    return this.#traffic.sent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
