import { Readable } from 'node:stream';

/** One output stream of a program, with Node's flow control but without its habit of discarding unread output when a child process ends. */
export class ProgramOutput extends Readable {
  /** Resolves when the last byte has arrived and can be read. */
  readonly complete: Promise<void>;
  readonly #source: Readable;
  #draining = false;

  constructor(source: Readable) {
    super();
    this.#source = source;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.complete = promise;
    const finish = (): void => {
      this.push(null);
      resolve();
    };
    source.on('data', (chunk: Buffer) => {
      if (!this.push(chunk) && !this.#draining && !this.destroyed) source.pause();
    });
    // A reset of the pipe counts as its end: its exit says how the program ended.
    source.on('error', () => {});
    source.once('close', finish);
  }

  override _read(): void {
    this.#source.resume();
  }

  /** A reader that goes away closes the pipe, and the program notices. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#source.destroy();
    callback(error);
  }

  /** Reads the rest after the program's end, without waiting for a reader. The rest is at most what the kernel buffers. */
  drain(): void {
    this.#draining = true;
    this.#source.resume();
  }
}
