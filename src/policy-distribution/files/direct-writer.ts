import type { FileHandle } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock.ts';
import { isUnknownToFileSystem, openDirect } from './direct-files.ts';

/**
 * Hashing, which goes on beside it, takes about one, and getting memory in the page cache up to four where a host has to be asked for it. A disk that is
 * slower than this is written to through the page cache, so that no caller waits for it.
 */
const MILLISECONDS_PER_MIB = 3;
/** So many may take as long as they will, as long as all of them together take no longer: a disk may pause, and has to begin. */
const TRIED_MIB = 64;
const MIB = 2 ** 20;

/**
 * Writes past the page cache for as long as the disk is fast enough: memory for what is only passed on takes longer to get than the writing, above
 * all where a virtual machine has to ask its host for it. What is written is on the disk then, but for what a sync still has to do.
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

  /** Undefined where there is no such way. */
  static async open(handle: Pick<FileHandle, 'fd'>, clock: Clock): Promise<DirectWriter | undefined> {
    const file = await openDirect(handle, 'write');
    return file && new DirectWriter(file, clock);
  }

  /**
   * @param block as `allocateAligned` makes them, whole.
   * @param position a multiple of a block's bytes.
   * @returns how many of its bytes are written; the rest, which may be all, is to be written in another way.
   * @throws what the file system says.
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
