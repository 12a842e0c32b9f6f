/** A stretch of a file in memory, padded with zeros to whole words of 32 bits. */
export class Block {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #all: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor() {
    this.words = new Uint32Array(BLOCK_BYTES / 4);
    this.#all = new Uint8Array(this.words.buffer);
  }

  /** Of the stretch, to be filled. */
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

  /** Those that the stretch reaches into. */
  get used(): Uint32Array<ArrayBuffer> {
    return this.words.subarray(0, Math.ceil(this.#length / 4));
  }
}

/** Bytes of a block: bounds the memory, and is worth a call of the compressor. */
export const BLOCK_BYTES = 2 ** 20;

/** Something as long as a file, of which any stretch can be read. */
export interface Stretches {
  /** Bytes. */
  readonly size: number;
  /** Fills the buffer from `position` on; all of it is there. */
  readInto(buffer: Uint8Array, position: number): Promise<void>;
}
