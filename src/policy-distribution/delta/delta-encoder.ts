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

/** Where more than so much of a block has to be written down, XOR of all of it compresses better, and quicker. */
const MOST_CHANGES = 0.5;
/** What saves less than this is not worth being taken apart again. */
const WORTH_COMPRESSING = 0.95;
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export interface DeltaOptions {
  /** A delta that would be longer is of no use. */
  readonly maxBytes: number;
  /** Takes the delta's bytes, in order. What it was given is its own. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Tells a file by what differs from a base, in one pass over both. Memory is that of a few blocks.
 *
 * @returns whether it was encoded: false when the delta would be too long; what was written is then not a delta.
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

  /** @param like where in the base the segment's like begins. */
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
    // A copy: the block is filled anew before it may have been written.
    return { kind: 'bytes', payload: bytes.slice() };
  }
}

/** @returns undefined when it would be beyond what is read of one. */
function encodeIndex(index: DeltaIndex): Uint8Array | undefined {
  const json = Buffer.from(JSON.stringify(index));
  if (!isWithin(json, INDEX_BOUNDS)) return undefined;
  const packed = zstdCompressSync(json);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32LE(packed.length, 0);
  numbers.writeUInt32LE(crc32(packed), 4);
  return Buffer.concat([packed, numbers, MAGIC]);
}
