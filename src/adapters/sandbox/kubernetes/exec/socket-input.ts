import { Writable } from 'node:stream';
import { type RawData, WebSocket } from 'ws';

/** The numbers that Kubernetes gives the input, and the end of a stream. */
const STDIN = 0;
const CLOSE = 255;
/** Bytes that may be on their way out of this process at a time; beyond it the writer waits. */
const PIECE_BYTES = 32_768;
/** Messages up to this size share memory with others anyway. */
const SMALL_BYTES = 4_096;

/**
 * A program's input over a connection, limited by the other side's credit. After the program has closed its input, further data is dropped, which is
 * no error.
 */
export class SocketInput extends Writable {
  readonly #socket: WebSocket;
  readonly #closing: Buffer;
  #credit: number;
  #goOn: (() => void) | undefined;
  #large: Buffer | undefined;

  private constructor(socket: WebSocket, credit: number, closing: Buffer) {
    super({ decodeStrings: true });
    this.#socket = socket;
    this.#credit = credit;
    this.#closing = closing;
  }

  /** Creates the input of an exec, which accepts everything: the connection itself holds it back. */
  static createForExec(socket: WebSocket): SocketInput {
    return new SocketInput(socket, Infinity, Buffer.of(CLOSE, STDIN));
  }

  /** Creates the input of a dialler, which grants credit. */
  static createForDialler(socket: WebSocket): SocketInput {
    return new SocketInput(socket, 0, Buffer.of(CLOSE));
  }

  /** Allows this many more bytes to be sent. */
  grant(bytes: number): void {
    this.#credit += bytes;
    this.#wake();
  }

  /** Called when the program has closed its input. */
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
    this.#socket.send(this.#closing, () => callback());
  }

  /** Each piece waits until the previous one has left this process: its callback comes when the operating system has accepted it. */
  #send(bytes: Buffer, from: number, callback: () => void): void {
    if (from >= bytes.length || this.#socket.readyState !== WebSocket.OPEN) return callback();
    if (this.#credit === 0) {
      this.#goOn = () => this.#send(bytes, from, callback);
      return;
    }
    const length = Math.min(PIECE_BYTES, this.#credit, bytes.length - from);
    this.#credit -= length;
    const message = this.#reserveMemory(1 + length);
    message[0] = STDIN;
    bytes.copy(message, 1, from, from + length);
    this.#socket.send(message, (error) => (error ? callback() : this.#send(bytes, from + length, callback)));
  }

  /** Large pieces reuse the same memory, so that a large input causes little garbage. Senders of small pieces allocate none. */
  #reserveMemory(length: number): Buffer {
    if (length <= SMALL_BYTES) {
      this.#large = undefined;
      return Buffer.allocUnsafe(length);
    }
    this.#large ??= Buffer.allocUnsafeSlow(1 + PIECE_BYTES);
    return this.#large.subarray(0, length);
  }

  #wake(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.();
  }
}

/** Returns a message of a connection in one piece. */
export function toBuffer(data: RawData): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.concat(Array.isArray(data) ? data : [new Uint8Array(data)]);
}
