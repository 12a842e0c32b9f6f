import type { CheckpointSource, ListedFile } from '../../policy-distribution/checkpoint-source.ts';

/**
 * A file in parts, one of which is in memory. It is read in one pass from its beginning, so that the source notices changes on the way; only going
 * back to before the last part reads it again.
 */
export class FileParts implements AsyncDisposable {
  readonly #source: CheckpointSource;
  readonly #file: ListedFile;
  readonly #partBytes: number;
  readonly #signal: AbortSignal;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  /** Bytes that were read and not returned yet. */
  #rest: Uint8Array = new Uint8Array();
  #part: Uint8Array = new Uint8Array();
  /** Position of the part. */
  #start = 0;

  constructor(source: CheckpointSource, file: ListedFile, partBytes: number, signal: AbortSignal) {
    this.#source = source;
    this.#file = file;
    this.#partBytes = partBytes;
    this.#signal = signal;
  }

  /** Reads at most `partBytes` from the offset on; nothing at the file's end. @throws as the source does. */
  async readFrom(offset: number): Promise<Uint8Array> {
    if (offset < this.#start) await this.#rewind();
    // A part that is returned again from its middle is shorter than it could be.
    while (offset >= this.#start + this.#part.length && (await this.#readNext()));
    return this.#part.subarray(Math.min(offset - this.#start, this.#part.length));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks?.return?.();
  }

  async #rewind(): Promise<void> {
    await this.#chunks?.return?.();
    this.#chunks = undefined;
    [this.#rest, this.#part, this.#start] = [new Uint8Array(), new Uint8Array(), 0];
  }

  /** @returns whether there was more. */
  async #readNext(): Promise<boolean> {
    this.#chunks ??= this.#source.read(this.#file, this.#signal)[Symbol.asyncIterator]();
    const gathered = [this.#rest];
    let bytes = this.#rest.length;
    while (bytes < this.#partBytes) {
      const { done, value } = await this.#chunks.next();
      if (done === true) break;
      gathered.push(value);
      bytes += value.length;
    }
    this.#start += this.#part.length;
    const whole = Buffer.concat(gathered);
    this.#part = whole.subarray(0, this.#partBytes);
    this.#rest = whole.subarray(this.#partBytes);
    return this.#part.length > 0;
  }
}
