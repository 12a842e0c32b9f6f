import { open, type FileHandle } from 'node:fs/promises';

/** Tells by what the kernel counts whether a part of a file is in the page cache: a read that is not had to ask the disk. */
export class PageCache implements AsyncDisposable {
  readonly #counts: FileHandle;
  readonly #answer = Buffer.alloc(4096);
  readonly #byte = Buffer.alloc(1);

  private constructor(counts: FileHandle) {
    this.#counts = counts;
  }

  /** Undefined where the kernel counts nothing. */
  static async open(): Promise<PageCache | undefined> {
    const counts = await open('/proc/self/io').catch(() => undefined);
    return counts && new PageCache(counts);
  }

  /**
   * Whatever else this process reads from a disk at the same moment makes it say no: to be asked where a wrong answer costs time and nothing else.
   * It may bring the byte's surroundings into the page cache.
   */
  async has(handle: FileHandle, position: number): Promise<boolean> {
    const before = await this.#readFromDisks();
    await handle.read(this.#byte, 0, 1, position);
    return before !== undefined && (await this.#readFromDisks()) === before;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#counts.close();
  }

  /** Bytes that this process has had brought from disks, all its threads together (`proc_pid_io(5)`). */
  async #readFromDisks(): Promise<string | undefined> {
    const { bytesRead } = await this.#counts.read(this.#answer, 0, this.#answer.length, 0);
    return /^read_bytes: (\d+)$/m.exec(this.#answer.toString('latin1', 0, bytesRead))?.[1];
  }
}
