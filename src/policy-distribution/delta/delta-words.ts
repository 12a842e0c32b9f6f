/**
 * The changes between two stretches of equal length, word by word: which words changed, and how (XOR). Words are little-endian, as in files
 * of weights and on every processor that Muster supports.
 *
 * Buffers are read 32 bits at a time, so they are padded; padding is the same in both.
 */

/** Bytes of one number. Numbers of 8 bytes count as two of 4: JavaScript is slow with 64-bit words. */
export type WordBytes = 1 | 2 | 4;

/** Longest encoded gap: seven bits a byte, and no stretch is longer than 2^21 words. */
const GAP_BYTES = 3;
const COUNT_BYTES = 4;

/** Buffers for the changes in a stretch of up to `bytes`, for repeated use. */
export class Changes {
  readonly #gaps: Uint8Array;
  readonly #bits: Uint32Array;
  #count = 0;
  #gapBytes = 0;
  #last = -1;

  /** @param bytes of the longest stretch; at most 2 MiB. */
  constructor(bytes: number) {
    this.#gaps = new Uint8Array(bytes * GAP_BYTES);
    this.#bits = new Uint32Array(bytes);
  }

  /** Finds the changes. @returns how many bytes their encoding takes, uncompressed. */
  find(now: Uint32Array, before: Uint32Array, wordBytes: WordBytes): number {
    [this.#count, this.#gapBytes, this.#last] = [0, 0, -1];
    switch (wordBytes) {
      case 1:
        this.#findBytes(now, before);
        break;
      case 2:
        this.#findHalves(now, before);
        break;
      case 4:
        this.#findWords(now, before);
        break;
    }
    return COUNT_BYTES + this.#gapBytes + this.#count * wordBytes;
  }

  /** Encodes the changes: their number, the gaps between them, then the changed bits, the lowest byte of each, the next of each, … */
  encode(wordBytes: WordBytes): Uint8Array {
    const count = this.#count;
    const begin = COUNT_BYTES + this.#gapBytes;
    const out = new Uint8Array(begin + count * wordBytes);
    new DataView(out.buffer).setUint32(0, count, true);
    out.set(this.#gaps.subarray(0, this.#gapBytes), COUNT_BYTES);
    for (let byte = 0; byte < wordBytes; byte += 1) {
      const [plane, shift, bits] = [begin + byte * count, 8 * byte, this.#bits];
      for (let i = 0; i < count; i += 1) out[plane + i] = (bits[i] ?? 0) >>> shift;
    }
    return out;
  }

  #findWords(now: Uint32Array, before: Uint32Array): void {
    for (let i = 0; i < now.length; i += 1) {
      const bits = (now[i] ?? 0) ^ (before[i] ?? 0);
      if (bits !== 0) this.#note(i, bits);
    }
  }

  #findHalves(now: Uint32Array, before: Uint32Array): void {
    for (let i = 0; i < now.length; i += 1) {
      const bits = (now[i] ?? 0) ^ (before[i] ?? 0);
      if (bits === 0) continue;
      if ((bits & 0xffff) !== 0) this.#note(2 * i, bits & 0xffff);
      if (bits >>> 16 !== 0) this.#note(2 * i + 1, bits >>> 16);
    }
  }

  #findBytes(now: Uint32Array, before: Uint32Array): void {
    for (let i = 0; i < now.length; i += 1) {
      const bits = (now[i] ?? 0) ^ (before[i] ?? 0);
      if (bits === 0) continue;
      for (let byte = 0; byte < 4; byte += 1) {
        const own = (bits >>> (8 * byte)) & 0xff;
        if (own !== 0) this.#note(4 * i + byte, own);
      }
    }
  }

  #note(index: number, bits: number): void {
    let gap = index - this.#last - 1;
    this.#last = index;
    this.#bits[this.#count] = bits;
    this.#count += 1;
    for (; gap > 0x7f; gap >>>= 7) {
      this.#gaps[this.#gapBytes] = 0x80 | (gap & 0x7f);
      this.#gapBytes += 1;
    }
    this.#gaps[this.#gapBytes] = gap;
    this.#gapBytes += 1;
  }
}

/**
 * Applies the changes to the old words.
 *
 * @param written as `Changes.encode` returns it; untrusted. @param length bytes of `words` that may change; the rest is padding. @returns
 * what is wrong with it, or undefined.
 */
export function applyChanges(written: Uint8Array, words: Uint32Array, length: number, wordBytes: WordBytes): string | undefined {
  if (written.length < COUNT_BYTES) return 'it ends before its count';
  const count = new DataView(written.buffer, written.byteOffset).getUint32(0, true);
  const gapsEnd = written.length - count * wordBytes;
  if (gapsEnd < COUNT_BYTES + count) return `it has ${written.length} bytes for ${count} changes`;
  const target = viewAsWords(words, wordBytes);
  const end = length / wordBytes;
  let index = -1;
  let at = COUNT_BYTES;
  for (let i = 0; i < count; i += 1) {
    let gap = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = written[at] ?? 0;
      at += 1;
      gap |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
      if (shift > 14) return `the position of change ${i} is out of bounds`;
    }
    index += gap + 1;
    if (index >= end || at > gapsEnd) return `change ${i} is out of bounds`;
    let bits = written[gapsEnd + i] ?? 0;
    if (wordBytes > 1) bits |= (written[gapsEnd + count + i] ?? 0) << 8;
    if (wordBytes > 2) bits |= ((written[gapsEnd + 2 * count + i] ?? 0) << 16) | ((written[gapsEnd + 3 * count + i] ?? 0) << 24);
    target[index] = (target[index] ?? 0) ^ bits;
  }
  return at === gapsEnd ? undefined : `${gapsEnd - at} bytes are left over`;
}

/** Returns the changed bits of all words: the lowest byte of each, the next of each, … */
export function subtractWords(now: Uint32Array, before: Uint32Array, length: number, wordBytes: WordBytes): Uint8Array {
  const [a, b, count] = [viewAsWords(now, wordBytes), viewAsWords(before, wordBytes), length / wordBytes];
  const out = new Uint8Array(length);
  for (let byte = 0; byte < wordBytes; byte += 1) {
    const [plane, shift] = [byte * count, 8 * byte];
    for (let i = 0; i < count; i += 1) out[plane + i] = ((a[i] ?? 0) ^ (b[i] ?? 0)) >>> shift;
  }
  return out;
}

/** Applies the differences to the old words. @returns what is wrong with them, or undefined. */
export function applyDifferences(planes: Uint8Array, words: Uint32Array, length: number, wordBytes: WordBytes): string | undefined {
  if (planes.length !== length) return `it has ${planes.length} bytes, expected ${length}`;
  const [target, count] = [viewAsWords(words, wordBytes), length / wordBytes];
  for (let byte = 0; byte < wordBytes; byte += 1) {
    const [plane, shift] = [byte * count, 8 * byte];
    for (let i = 0; i < count; i += 1) target[i] = (target[i] ?? 0) ^ ((planes[plane + i] ?? 0) << shift);
  }
  return undefined;
}

function viewAsWords({ buffer, byteOffset, byteLength }: Uint32Array, wordBytes: WordBytes): Uint8Array | Uint16Array | Uint32Array {
  switch (wordBytes) {
    case 1:
      return new Uint8Array(buffer, byteOffset, byteLength);
    case 2:
      return new Uint16Array(buffer, byteOffset, byteLength / 2);
    case 4:
      return new Uint32Array(buffer, byteOffset, byteLength / 4);
  }
}
