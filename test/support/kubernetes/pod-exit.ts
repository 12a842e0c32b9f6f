import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream';
import type { Mount } from '../../../src/pool/ports/template.ts';

const PROGRAM = path.join(import.meta.dirname, 'pod_exit.py');
const INSIDE = '/opt/pod-exit';

/** What goes wrong on the ways out of a node's pods. */
export class ExitFaults {
  readonly #planned: number[] = [];
  readonly #open = new Set<Socket>();

  /** The next connection that is made breaks when so many bytes have come from inside: in the middle of whatever that is. */
  cutNext(afterBytes: number): void {
    this.#planned.push(afterBytes);
  }

  /** Resets every connection. */
  dropAll(): void {
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  watch(outside: Socket, inside: Socket): void {
    this.#open.add(outside);
    outside.once('close', () => this.#open.delete(outside));
    const afterBytes = this.#planned.shift();
    if (afterBytes === undefined) return;
    let seen = 0;
    inside.on('data', (chunk: Buffer) => {
      seen += chunk.length;
      if (seen >= afterBytes) outside.resetAndDestroy();
    });
  }
}

/**
 * The one way out of a simulated container without a network: a port of its loopback leads to the same port of the machine's, over a Unix
 * socket. As if a NetworkPolicy allowed that port and no other.
 */
export class PodExit implements AsyncDisposable {
  readonly mounts: readonly Mount[];
  readonly command: readonly string[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(socketFile: string, port: number, [python = '', ...words]: readonly string[], server: Server, faults: ExitFaults) {
    this.mounts = [
      { source: PROGRAM, target: `${INSIDE}/pod_exit.py` },
      { source: socketFile, target: `${INSIDE}/socket` },
    ];
    this.command = [python, '-I', '-S', `${INSIDE}/pod_exit.py`, String(port), `${INSIDE}/socket`, python, ...words];
    this.#server = server;
    server.on('connection', (inside: Socket) => {
      const outside = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      inside.once('error', () => outside.destroy());
      outside.once('error', () => inside.destroy());
      outside.once('connect', () => {
        this.#join(inside, outside);
        faults.watch(outside, inside);
      });
    });
  }

  /** @param command of the container: begins with an interpreter of Python. */
  static async open(socketFile: string, port: number, command: readonly string[], faults: ExitFaults): Promise<PodExit> {
    const server = createServer({ allowHalfOpen: true }).listen(socketFile);
    await once(server, 'listening');
    await chmod(socketFile, 0o777);
    return new PodExit(socketFile, port, command, server, faults);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(inside: Socket, outside: Socket): void {
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      this.#sockets.add(from);
      from.once('close', () => this.#sockets.delete(from));
      // One end that breaks takes the other with it.
      pipeline(from, to, (error) => {
        if (!error) return;
        from.destroy();
        to.destroy();
      });
    }
  }
}
