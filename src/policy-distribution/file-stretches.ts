import { open, type FileHandle } from 'node:fs/promises';
import { InfrastructureError } from '../kernel/errors.ts';
import type { Stretches } from './delta-block.ts';
import { guarded, readInto, undefinedWhenMissing } from './store-files.ts';

/** A file of the store that is open to be read in stretches. */
export class FileStretches implements Stretches, AsyncDisposable {
  readonly size: number;
  readonly path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle, size: number) {
    [this.path, this.#handle, this.size] = [path, handle, size];
  }

  /** Undefined when there is none. @throws InfrastructureError `store.unusable` */
  static async open(path: string): Promise<FileStretches | undefined> {
    const handle = await guarded(path, () => open(path, 'r').catch(undefinedWhenMissing));
    return handle && new FileStretches(path, handle, (await guarded(path, () => handle.stat())).size);
  }

  /** @throws InfrastructureError `store.damaged` when it has been cut off since, and `store.unusable`. */
  async readInto(buffer: Uint8Array, position: number): Promise<void> {
    const read = await guarded(this.path, () => readInto(this.#handle, buffer, position));
    if (read === buffer.length) return;
    throw new InfrastructureError('store.damaged', `store: ${this.path} ends at byte ${position + read}; it had ${this.size} bytes`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
