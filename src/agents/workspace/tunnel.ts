import { Duplex } from 'node:stream';
import type { CommandLine } from './command-line.ts';

/** Bytes that one direction of a connection may send before the other side has received them. */
export const WINDOW_BYTES = 256 * 1024;
/** Connections at a time. */
const MOST_CONNECTIONS = 64;
const HEADER_BYTES = 9;

/** A frame's message about its connection. The body of the last two is a number and a text. */
const KINDS = ['open', 'data', 'end', 'reset', 'credit', 'unstartable'] as const;
type Kind = (typeof KINDS)[number];

interface Frame {
  readonly connection: number;
  readonly kind: Kind;
  readonly body: Buffer;
}

/**
 * Connections that programs in a workspace make to the relay there, carried over the descriptor 3 of the relay. A frame is a connection (4 bytes), a
 * kind (1 byte), a length (4 bytes) and a body. Neither side sends more of a connection than the other has given it credit for.
 */
export class Tunnel implements Disposable {
  readonly #line: CommandLine;
  readonly #onConnection: (connection: Duplex) => void;
  readonly #connections = new Map<number, TunnelConnection>();
  #received: Buffer = Buffer.alloc(0);
  /** Why the relay could not start the program. */
  problem: string | undefined;
  /** Its data is no frame; nothing is carried from then on. */
  #isBroken = false;

  constructor(line: CommandLine, onConnection: (connection: Duplex) => void) {
    this.#line = line;
    this.#onConnection = onConnection;
    line.onData((data) => this.#take(data));
  }

  [Symbol.dispose](): void {
    this.#isBroken = true;
    for (const connection of this.#connections.values()) connection.destroy();
    this.#connections.clear();
  }

  #take(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    while (!this.#isBroken && this.#received.length >= HEADER_BYTES) {
      const length = this.#received.readUInt32BE(5);
      const kind = KINDS[this.#received.readUInt8(4)];
      if (kind === undefined || length > WINDOW_BYTES) return this[Symbol.dispose]();
      if (this.#received.length < HEADER_BYTES + length) return;
      const body = this.#received.subarray(HEADER_BYTES, HEADER_BYTES + length);
      const connection = this.#received.readUInt32BE(0);
      this.#received = this.#received.subarray(HEADER_BYTES + length);
      this.#onFrame({ connection, kind, body });
    }
  }

  #onFrame({ connection: number, kind, body }: Frame): void {
    const connection = this.#connections.get(number);
    switch (kind) {
      case 'open':
        return this.#open(number);
      case 'data':
        return connection?.arrive(body);
      case 'end':
        return connection?.arrive(null);
      case 'reset':
        connection?.destroy();
        return;
      case 'credit':
        return connection?.credit(body.length === 4 ? body.readUInt32BE(0) : 0);
      case 'unstartable':
        this.problem ??= body.toString('utf8');
    }
  }

  #open(number: number): void {
    if (this.#connections.has(number) || this.#connections.size >= MOST_CONNECTIONS) return this.#send(number, 'reset');
    const connection = new TunnelConnection((kind, body) => this.#send(number, kind, body));
    this.#connections.set(number, connection);
    connection.once('close', () => this.#connections.delete(number));
    // Its user gets the error; a connection that breaks off is not Muster's fault.
    connection.on('error', () => undefined);
    this.#onConnection(connection);
  }

  #send(connection: number, kind: Kind, body: Buffer = Buffer.alloc(0)): void {
    if (this.#isBroken) return;
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(connection, 0);
    header.writeUInt8(KINDS.indexOf(kind), 4);
    header.writeUInt32BE(body.length, 5);
    this.#line.write(Buffer.concat([header, body]));
  }
}

class TunnelConnection extends Duplex {
  readonly #send: (kind: Kind, body?: Buffer) => void;
  #credit = WINDOW_BYTES;
  /** Received and not read yet. */
  #unread = 0;
  #waiting: { readonly data: Buffer; readonly written: (error?: Error | null) => void } | undefined;
  #isEnded = false;

  constructor(send: (kind: Kind, body?: Buffer) => void) {
    super({ allowHalfOpen: true, writableHighWaterMark: WINDOW_BYTES, readableHighWaterMark: WINDOW_BYTES });
    this.#send = send;
  }

  arrive(data: Buffer | null): void {
    if (this.#isEnded) return;
    this.#isEnded = data === null;
    this.#unread += data?.length ?? 0;
    // It sent more than it had credit for.
    if (this.#unread > WINDOW_BYTES) return void this.destroy();
    this.push(data);
  }

  credit(bytes: number): void {
    this.#credit = Math.min(WINDOW_BYTES, this.#credit + bytes);
    const { data, written } = this.#waiting ?? {};
    this.#waiting = undefined;
    if (data && written) this._write(data, 'buffer', written);
  }

  /** The reader has room again: the received data has been read. */
  override _read(): void {
    const taken = this.#unread - this.readableLength;
    if (taken <= 0) return;
    this.#unread -= taken;
    const body = Buffer.alloc(4);
    body.writeUInt32BE(taken, 0);
    this.#send('credit', body);
  }

  override _write(data: Buffer, _: string, written: (error?: Error | null) => void): void {
    const now = data.subarray(0, this.#credit);
    this.#credit -= now.length;
    if (now.length > 0) this.#send('data', now);
    if (now.length === data.length) written();
    else this.#waiting = { data: data.subarray(now.length), written };
  }

  override _final(done: () => void): void {
    this.#send('end');
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#send('reset');
    done(error);
  }
}
