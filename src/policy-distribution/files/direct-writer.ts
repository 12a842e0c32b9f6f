import type { FileHandle } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock.ts';
import { isUnknownToFileSystem, openDirect } from './direct-files.ts';

/**
 * Hashing, which runs in parallel, takes about one, and allocating page cache up to four where a virtual machine has to ask its host for
 * memory. A slower disk is written through the page cache, so that no caller waits for it.
 */
const MILLISECONDS_PER_MIB = 3;
/** The speed is measured over this many MiB together: a disk may pause, and starts slowly. */
const TRIED_MIB = 64;
const MIB = 2 ** 20;

/**
 * Writes past the page cache while the disk is fast enough: allocating page cache for data that is only passed on takes longer than writing
 * it, above all where a virtual machine has to ask its host for memory. The data is then on the disk, except for what a sync still has to
 * write.
 */
export class DirectWriter implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #clock: Clock;
  #isUsed = true;
  #writtenMib = 0;
  #milliseconds = 0;

  private constructor(file: FileHandle, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Returns undefined where the file system does not support it. */
  static async open(handle: Pick<FileHandle, 'fd'>, clock: Clock): Promise<DirectWriter | undefined> {
    const file = await openDirect(handle, 'write');
    return file && new DirectWriter(file, clock);
  }

  /**
   * @param block a whole one, made by `allocateAligned`. @param position a multiple of a block's bytes. @returns how many of its bytes are
   * written; the rest, which may be all, has to be written in another way. @throws the file system's error.
   */
  async write(block: Uint8Array, position: number): Promise<number> {
    if (!this.#isUsed) return 0;
    const began = this.#clock.now();
    const written = await this.#file.write(block, 0, block.length, position).then(
      ({ bytesWritten }) => bytesWritten,
      (error: unknown) => {
        if (isUnknownToFileSystem(error)) return 0;
        throw error;
      },
    );
    this.#writtenMib += written / MIB;
    this.#milliseconds += this.#clock.now() - began;
    this.#isUsed = written === block.length && !this.#isSlow();
    return written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #isSlow(): boolean {
    return this.#milliseconds > Math.max(TRIED_MIB, this.#writtenMib) * MILLISECONDS_PER_MIB;
  }
}
