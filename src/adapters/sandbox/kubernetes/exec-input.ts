import { Writable } from 'node:stream';
import { WebSocket } from 'ws';

const STDIN = 0;
const CLOSE = 255;
/** So much of what is written is on its way at a time; the rest waits with whoever writes it. */
const PIECE_BYTES = 32_768;

/** A program's input over a connection. When nobody listens any more, what is written goes nowhere, and that is no error. */
export class ExecInput extends Writable {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super({ decodeStrings: true });
    this.#socket = socket;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#send(chunk, 0, callback);
  }

  /** Many small frames that have queued up cost one message. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), 0, callback);
  }

  /** Ends this stream alone: output still flows. */
  override _final(callback: () => void): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return callback();
    this.#socket.send(Buffer.of(CLOSE, STDIN), () => callback());
  }

  /** Each piece waits until the one before has left this process: its callback comes when the operating system has taken it. */
  #send(bytes: Buffer, from: number, callback: () => void): void {
    if (from >= bytes.length || this.#socket.readyState !== WebSocket.OPEN) return callback();
    const piece = Buffer.concat([Buffer.of(STDIN), bytes.subarray(from, from + PIECE_BYTES)]);
    this.#socket.send(piece, (error) => (error ? callback() : this.#send(bytes, from + PIECE_BYTES, callback)));
  }
}
