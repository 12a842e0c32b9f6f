import { crc32, zstdCompressSync, constants } from 'node:zlib';
import type { Digest } from '../../kernel/ids.ts';
import { isWithin } from '../../kernel/json-bounds.ts';
import { Block, BLOCK_BYTES, type Stretches } from './delta-block.ts';
import { BLOCK_KINDS, INDEX_BOUNDS, MAGIC, type DeltaIndex, type DeltaSegment } from './delta-format.ts';
import { findAlike, type Segment } from './delta-layout.ts';
import { Changes, subtractWords, type WordBytes } from './delta-words.ts';

/** One side of a delta. */
export interface DeltaSide {
  readonly digest: Digest;
  readonly layout: readonly Segment[];
  readonly bytes: Stretches;
}

/** When a larger share of a block has changed, XOR of the whole block compresses better and faster. */
const MOST_CHANGES = 0.5;
/** A smaller saving is not worth decompressing. */
const WORTH_COMPRESSING = 0.95;
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export interface DeltaOptions {
  /** A longer delta is of no use. */
  readonly maxBytes: number;
  /** Receives the delta's bytes in order, and owns them. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Encodes a file as its difference from a base, in one pass over both, with the memory of a few blocks.
 *
 * @returns false when the delta would be too long; what was written is then not a delta.
 */
export async function encodeDelta(file: DeltaSide, base: DeltaSide, { maxBytes, write, signal }: DeltaOptions): Promise<boolean> {
  const encoder = new BlockEncoder(file.bytes, base.bytes);
  const from = findAlike(file.layout, base.layout);
  const segments: DeltaSegment[] = [];
  await write(MAGIC);
  let written = MAGIC.length;
  for (const [i, segment] of file.layout.entries()) {
    const blocks: [number, number][] = [];
    let checksum = 0;
    for (let at = 0; at < segment.size; at += BLOCK_BYTES) {
      signal.throwIfAborted();
      const { kind, payload } = await encoder.encode(segment, at, from[i]);
      checksum = crc32(encoder.now, checksum);
      blocks.push([BLOCK_KINDS[kind], payload.length]);
      written += payload.length;
      if (written > maxBytes) return false;
      if (payload.length > 0) await write(payload);
    }
    const { name, size, wordBytes } = segment;
    segments.push({ name, size, wordBytes, from: from[i] ?? null, crc32: checksum, blocks });
  }
  const tail = encodeIndex({
    format: 'muster-delta/1',
    file: { digest: file.digest, size: file.bytes.size },
    base: { digest: base.digest, size: base.bytes.size },
    segments,
  });
  if (tail === undefined || written + tail.length > maxBytes) return false;
  await write(tail);
  return true;
}

interface EncodedBlock {
  readonly kind: keyof typeof BLOCK_KINDS;
  readonly payload: Uint8Array;
}

const NOTHING = new Uint8Array(0);

class BlockEncoder {
  readonly #file: Stretches;
  readonly #base: Stretches;
  readonly #now = new Block();
  readonly #before = new Block();
  readonly #changes = new Changes(BLOCK_BYTES);

  constructor(file: Stretches, base: Stretches) {
    this.#file = file;
    this.#base = base;
  }

  /** The block of the file that was encoded last. */
  get now(): Uint8Array {
    return this.#now.bytes;
  }

  /** @param like where the similar segment begins in the base. */
  async encode(segment: Segment, at: number, like: number | undefined): Promise<EncodedBlock> {
    const now = this.#now.resize(Math.min(BLOCK_BYTES, segment.size - at));
    const reading = this.#file.readInto(now, segment.begin + at);
    if (like === undefined) {
      await reading;
      return this.#encodeAlone();
    }
    await Promise.all([reading, this.#base.readInto(this.#before.resize(now.length), like + at)]);
    return this.#encodeChanges(segment.wordBytes);
  }

  #encodeChanges(wordBytes: WordBytes): EncodedBlock {
    const [now, before] = [this.#now, this.#before];
    if (Buffer.compare(now.bytes, before.bytes) === 0) return { kind: 'same', payload: NOTHING };
    if (this.#changes.find(now.used, before.used, wordBytes) <= MOST_CHANGES * now.length)
      return { kind: 'changes', payload: zstdCompressSync(this.#changes.encode(wordBytes), ZSTD) };
    const payload = zstdCompressSync(subtractWords(now.words, before.words, now.length, wordBytes), ZSTD);
    return payload.length < WORTH_COMPRESSING * now.length ? { kind: 'differences', payload } : this.#encodeAlone();
  }

  #encodeAlone(): EncodedBlock {
    const { bytes } = this.#now;
    const payload = zstdCompressSync(bytes, ZSTD);
    if (payload.length < WORTH_COMPRESSING * bytes.length) return { kind: 'compressed', payload };
    // A copy: the block may be refilled before it has been written.
    return { kind: 'bytes', payload: bytes.slice() };
  }
}

/** @returns undefined when it exceeds what readers accept. */
function encodeIndex(index: DeltaIndex): Uint8Array | undefined {
  const json = Buffer.from(JSON.stringify(index));
  if (!isWithin(json, INDEX_BOUNDS)) return undefined;
  const packed = zstdCompressSync(json);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32LE(packed.length, 0);
  numbers.writeUInt32LE(crc32(packed), 4);
  return Buffer.concat([packed, numbers, MAGIC]);
}
