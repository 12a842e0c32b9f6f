import { Writable } from 'node:stream';

/** A program's input. After the program has closed its input, writes are discarded without an error. */
export class ProgramInput extends Writable {
  readonly #target: Writable;

  constructor(target: Writable) {
    super({ decodeStrings: true });
    this.#target = target;
    // EPIPE and ECONNRESET only repeat what the program's exit says.
    target.on('error', () => {});
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (this.#target.destroyed) callback();
    else this.#target.write(chunk, () => callback());
  }

  /** Many small frames that have queued up cost one system call. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'utf8', callback);
  }

  override _final(callback: () => void): void {
    if (this.#target.destroyed) callback();
    else this.#target.end(() => callback());
  }
}
