import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { InjectedFault } from './faults.ts';
import type { Executed } from './simulated-node.ts';

const PROTOCOL = 'v5.channel.k8s.io';
const [STDIN, STDOUT, STDERR, STATUS, CLOSE] = [0, 1, 2, 3, 255];
/** What a server sends before its peer has taken what was sent. */
const WINDOW_BYTES = 65_536;
/** A message's payload is never larger. */
const PIECE_BYTES = 32_768;

/** The server's half of exec over WebSockets (v5.channel.k8s.io). */
export class ExecEndpoint {
  readonly #server = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
    perMessageDeflate: false,
  });
  readonly #sockets = new Set<WebSocket>();

  get open(): number {
    return this.#sockets.size;
  }

  /** Resets every connection. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  /** @param onExit called with how the command ended, before the client is. */
  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    executed: Executed,
    fault: InjectedFault | undefined,
    onExit: (code: number | undefined) => Promise<void>,
  ): void {
    this.#server.handleUpgrade(request, socket, head, (client) => {
      this.#sockets.add(client);
      client.once('close', () => this.#sockets.delete(client));
      client.on('error', () => {});
      serve(client, executed, fault, onExit);
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
    this.#server.close();
  }
}

function serve(
  client: WebSocket,
  executed: Executed,
  fault: InjectedFault | undefined,
  onExit: (code: number | undefined) => Promise<void>,
): void {
  let sent = 0;
  const send = (stream: number, bytes: Uint8Array, taken: () => void = () => {}): void => {
    sent += 1;
    if (fault?.kind === 'disaster' && sent > fault.after) fault.strike();
    if (fault?.kind === 'drop' && sent > (fault.after ?? 0) && fault.strike()) return client.terminate();
    // Silent from some message on: nothing is sent, nothing is answered, and the connection stays.
    if (fault?.kind === 'silence' && sent > 4 && fault.strike()) return client.pause();
    client.send(Buffer.concat([Buffer.of(stream), bytes]), taken);
  };
  // An empty message on the first stream that is read says that all is ready.
  client.send(Buffer.of(STDOUT ?? 1));
  client.on('message', (data: Buffer) => {
    if (data[0] === CLOSE && data[1] === STDIN) executed.stdin.end();
    else if (data[0] === STDIN && !executed.stdin.write(data.subarray(1))) client.pause();
  });
  executed.stdin.on('drain', () => client.resume());
  executed.stdin.once('close', () => client.resume());
  client.once('close', () => {
    executed.stdin.end();
    executed.stdout.resume();
    executed.stderr.resume();
  });
  const outputs = Promise.all([pump(executed.stdout, STDOUT ?? 1, client, send), pump(executed.stderr, STDERR ?? 2, client, send)]);
  void finish();

  async function finish(): Promise<void> {
    const code = await executed.ended;
    await outputs;
    await onExit(code);
    // A container that was killed took the command with it, and that is all that is known.
    send(STATUS ?? 3, Buffer.from(JSON.stringify(statusOf(code ?? 137))));
    client.close(1000);
  }
}

/** Resolves when the stream has ended. */
async function pump(
  source: Readable,
  stream: number,
  client: WebSocket,
  send: (stream: number, bytes: Uint8Array, taken: () => void) => void,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  source.once('end', resolve).once('close', resolve).once('error', resolve);
  source.on('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) send(stream, chunk.subarray(at, at + PIECE_BYTES), () => source.resume());
    if (client.bufferedAmount > WINDOW_BYTES) source.pause();
  });
  await promise;
}

function statusOf(code: number): object {
  if (code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}
