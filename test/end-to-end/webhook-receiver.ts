import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

/** Takes webhooks on a port of its own. */
export class WebhookReceiver implements AsyncDisposable {
  readonly received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  readonly url: string;
  /** Of its answers. */
  status = 204;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}/hook`;
  }

  static async start(): Promise<WebhookReceiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = z.object({ port: z.int() }).parse(server.address());
    const receiver = new WebhookReceiver(server, port);
    server.on('request', (request, response) => {
      void (async () => {
        receiver.received.push({ headers: request.headers, body: await text(request) });
        response.writeHead(receiver.status).end();
      })();
    });
    return receiver;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
