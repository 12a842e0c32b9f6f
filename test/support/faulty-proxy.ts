import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';

/** What happens to the body of an answer on its way. Offsets are bytes of this body. */
export type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'cut'; readonly after: number }
  | { readonly kind: 'stall'; readonly after: number }
  | { readonly kind: 'flip'; readonly bit: number }
  /** @param body JSON; none when left out. */
  | { readonly kind: 'status'; readonly status: number; readonly body?: string };

/** Stands between a client and an HTTP server, and spoils the answers that a test names. */
export class FaultyProxy implements AsyncDisposable {
  readonly #server = http.createServer((request, response) => this.#forward(request, response));
  readonly #target: URL;
  readonly #agent = new http.Agent({ keepAlive: false });
  #next: (request: IncomingMessage) => Fault = () => ({ kind: 'none' });
  readonly asked: string[] = [];
  readonly #underWay = new Set<ServerResponse>();
  #stalled = 0;

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async before(target: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /** Whether the server is at an answer, or one is on its way: not those that are stalled. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** Whether an answer is stalled that its client still waits for. */
  get isStalling(): boolean {
    return this.#stalled > 0;
  }

  /** Of each answer to come, by what was asked. */
  spoil(next: (request: IncomingMessage) => Fault): void {
    this.#next = next;
    this.asked.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(`${request.method} ${request.url} ${request.headers.range ?? ''}`);
    const fault = this.#next(request);
    this.#underWay.add(response);
    response.on('close', () => this.#underWay.delete(response));
    if (fault.kind === 'status') return void response.writeHead(fault.status, { 'content-type': 'application/json' }).end(fault.body);
    const { hostname, port } = this.#target;
    const asked = http.request({ hostname, port, path: request.url, method: request.method, headers: request.headers, agent: this.#agent });
    asked.on('error', () => response.destroy());
    asked.on('response', (answer) => {
      answer.on('error', () => response.destroy());
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      this.#pass(fault, answer, response).catch(() => response.destroy());
    });
    response.on('close', () => asked.destroy());
    request.pipe(asked);
  }

  async #pass(fault: Fault, answer: IncomingMessage, response: ServerResponse): Promise<void> {
    let offset = 0;
    for await (const chunk of answer) {
      if (!(chunk instanceof Buffer)) continue;
      if (fault.kind === 'cut' || fault.kind === 'stall') {
        const fine = chunk.subarray(0, Math.max(0, fault.after - offset));
        if (fine.length > 0) await written(response, fine);
        if (fine.length < chunk.length) return void (fault.kind === 'cut' ? response.destroy() : this.#stall(response));
      } else {
        if (fault.kind === 'flip') flip(chunk, fault.bit - offset * 8);
        await written(response, chunk);
      }
      offset += chunk.length;
    }
    if (fault.kind === 'cut' && fault.after <= offset) response.destroy();
    else response.end();
  }

  #stall(response: ServerResponse): void {
    this.#underWay.delete(response);
    this.#stalled += 1;
    response.on('close', () => (this.#stalled -= 1));
  }
}

function flip(chunk: Buffer, bit: number): void {
  const at = Math.floor(bit / 8);
  const byte = chunk[at];
  if (byte !== undefined) chunk[at] = byte ^ (1 << (bit % 8));
}

function written(response: ServerResponse, chunk: Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  response.write(chunk, (error) => (error ? reject(error) : resolve()));
  return promise;
}
