import { open, type FileHandle } from 'node:fs/promises';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { Stretches } from '../delta/delta-block.ts';
import { translateErrors, readAt, readInto } from './store-files.ts';
import { ignoreMissing } from '../../kernel/errno.ts';

/**
 * Bytes that a request for a short stretch reads ahead. Deltas of small tensors are read in pieces of some hundred bytes from up to 17
 * files at once, and a request to a thread for each would take longer than everything else.
 */
const AHEAD_BYTES = 2 ** 19;
/** Longer stretches are read without reading ahead. */
const LONG_BYTES = 2 ** 18;

interface Window {
  readonly begin: number;
  /** The bytes that the file has there; there may be fewer than requested. */
  readonly bytes: Uint8Array;
}

/** A file of the store that is open for reading stretches. */
export class FileStretches implements Stretches, AsyncDisposable {
  readonly size: number;
  readonly path: string;
  readonly #handle: FileHandle;
  #window: Window = { begin: 0, bytes: new Uint8Array() };

  private constructor(path: string, handle: FileHandle, size: number) {
    [this.path, this.#handle, this.size] = [path, handle, size];
  }

  /** Returns undefined when there is no such file. @throws InfrastructureError `store.unusable` */
  static async open(path: string): Promise<FileStretches | undefined> {
    const handle = await translateErrors(path, () => open(path, 'r').catch(ignoreMissing));
    return handle && new FileStretches(path, handle, (await translateErrors(path, () => handle.stat())).size);
  }

  /** @throws InfrastructureError `store.damaged` when the file has become shorter since, and `store.unusable`. */
  async readInto(buffer: Uint8Array, position: number): Promise<void> {
    const read = await translateErrors(this.path, () => this.#readInto(buffer, position));
    if (read === buffer.length) return;
    throw new InfrastructureError('store.damaged', `store: ${this.path} ends at byte ${position + read}; it had ${this.size} bytes`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  async #readInto(buffer: Uint8Array, position: number): Promise<number> {
    if (buffer.length >= LONG_BYTES) return readInto(this.#handle, buffer, position);
    const { begin, bytes } = await this.#getWindow(position, buffer.length);
    const found = bytes.subarray(position - begin).subarray(0, buffer.length);
    buffer.set(found);
    return found.length;
  }

  async #getWindow(position: number, length: number): Promise<Window> {
    const { begin, bytes } = this.#window;
    if (begin <= position && position + length <= begin + bytes.length) return this.#window;
    const window = { begin: position, bytes: await readAt(this.#handle, position, AHEAD_BYTES) };
    this.#window = window;
    return window;
  }
}
