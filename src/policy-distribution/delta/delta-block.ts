/** A stretch of a file in memory, padded with zeros to whole words of 32 bits. */
export class Block {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #all: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor() {
    this.words = new Uint32Array(BLOCK_BYTES / 4);
    this.#all = new Uint8Array(this.words.buffer);
  }

  /** Returns the stretch's bytes, to be filled. */
  resize(length: number): Uint8Array<ArrayBuffer> {
    this.#all.fill(0, length, Math.min(BLOCK_BYTES, length + 4));
    this.#length = length;
    return this.bytes;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#all.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  /** The words that the stretch covers. */
  get used(): Uint32Array<ArrayBuffer> {
    return this.words.subarray(0, Math.ceil(this.#length / 4));
  }
}

/** Bytes of a block: bounds the memory, and is large enough for a call of the compressor. */
export const BLOCK_BYTES = 2 ** 20;

/** A file, or something like it, of which any stretch can be read. */
export interface Stretches {
  /** Bytes. */
  readonly size: number;
  /** Fills the whole buffer from `position` on. */
  readInto(buffer: Uint8Array, position: number): Promise<void>;
}
