import { Writable } from 'node:stream';
import { WebSocket } from 'ws';
import { CHANNEL } from './messages.ts';

/** So much of what is written is on its way out of this process at a time. */
const PIECE_BYTES = 32_768;

/** A program's input over a connection: no more of it is sent than the other side has asked for. */
export class DialInput extends Writable {
  readonly #socket: WebSocket;
  #credit = 0;
  #goOn: (() => void) | undefined;

  constructor(socket: WebSocket) {
    super({ decodeStrings: true });
    this.#socket = socket;
  }

  /** So many more bytes may be sent. */
  grant(bytes: number): void {
    this.#credit += bytes;
    this.#wake();
  }

  /** Nobody listens any more. */
  release(): void {
    this.#wake();
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
    this.#socket.send(Buffer.of(CHANNEL.close), () => callback());
  }

  #send(bytes: Buffer, from: number, callback: () => void): void {
    if (from >= bytes.length || this.#socket.readyState !== WebSocket.OPEN) return callback();
    if (this.#credit === 0) {
      this.#goOn = () => this.#send(bytes, from, callback);
      return;
    }
    const length = Math.min(PIECE_BYTES, this.#credit, bytes.length - from);
    this.#credit -= length;
    const piece = Buffer.concat([Buffer.of(CHANNEL.stdin), bytes.subarray(from, from + length)]);
    this.#socket.send(piece, (error) => (error ? callback() : this.#send(bytes, from + length, callback)));
  }

  #wake(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.();
  }
}
