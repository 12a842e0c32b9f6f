import { Readable, Writable } from 'node:stream';

/** What a pipe holds before its writer has to wait, in bytes. */
const CAPACITY_BYTES = 65_536;

/** A one-way byte stream between two parties in one process, with a pipe's flow control and none of its system calls. */
export class Pipe {
  readonly reader: Readable;
  readonly writer: Writable;
  #closed = false;
  #waiting: (() => void) | undefined;

  constructor() {
    this.reader = new Readable({
      highWaterMark: CAPACITY_BYTES,
      read: () => this.#goOn(),
      destroy: (error, callback) => {
        this.#closed = true;
        this.#goOn();
        callback(error);
      },
    });
    this.writer = new Writable({
      highWaterMark: CAPACITY_BYTES,
      write: (chunk: Buffer, _encoding, callback) => this.#write(chunk, callback),
      final: (callback) => {
        this.close();
        callback();
      },
    });
  }

  /** Ends what can be read. What is still written goes nowhere, and that is no error. */
  close(): void {
    if (!this.#closed) this.reader.push(null);
    this.#closed = true;
    this.#goOn();
  }

  #write(chunk: Buffer, callback: () => void): void {
    if (this.#closed || this.reader.push(chunk)) callback();
    else this.#waiting = callback;
  }

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }
}
