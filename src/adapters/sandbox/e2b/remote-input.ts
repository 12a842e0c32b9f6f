import { Writable } from 'node:stream';

/** The largest number of bytes in one request: input that the program does not read waits here and not in the service. */
const PIECE_BYTES = 262_144;

/** A program's input; each call begins when the previous one has returned. */
export interface InputTarget {
  send(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** A program's input. When the program no longer listens, what is written goes nowhere, and that is no error. */
export class RemoteInput extends Writable {
  readonly #target: InputTarget;
  readonly #failed: (error: unknown) => void;

  /** @param failed called when input was lost: the program is of no use any more. */
  constructor(target: InputTarget, failed: (error: unknown) => void) {
    super({ decodeStrings: true });
    this.#target = target;
    this.#failed = failed;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    void this.#attempt(() => this.#send(chunk), callback);
  }

  /** Many small frames that have queued up cost one request. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    void this.#attempt(() => this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk))), callback);
  }

  override _final(callback: () => void): void {
    void this.#attempt(() => this.#target.close(), callback);
  }

  async #send(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) await this.#target.send(bytes.subarray(at, at + PIECE_BYTES));
  }

  async #attempt(act: () => Promise<void>, callback: () => void): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#failed(error);
    }
    callback();
  }
}
