import { crc32, zstdDecompressSync } from 'node:zlib';
import { getMessage } from '../../kernel/errors.ts';
import { Block, BLOCK_BYTES, type Stretches } from '../delta/delta-block.ts';
import { BLOCK_KINDS, MAGIC, MalformedDelta, INDEX_BOUNDS, TAIL_BYTES, type DeltaIndex, type DeltaSegment } from '../delta/delta-format.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';
import { applyChanges, applyDifferences } from '../delta/delta-words.ts';

/**
 * Reads the index, and verifies all positions and sizes in it.
 *
 * @param address for people. @throws MalformedDelta; InputError `checkpoint.bounds`
 */
export async function readIndex(delta: Stretches, address: string): Promise<DeltaIndex> {
  if (delta.size < MAGIC.length + TAIL_BYTES) throw new MalformedDelta(`it has ${delta.size} bytes, too few for a delta`);
  const [head, tail] = [Buffer.alloc(MAGIC.length), Buffer.alloc(TAIL_BYTES)];
  await delta.readInto(head, 0);
  await delta.readInto(tail, delta.size - TAIL_BYTES);
  if (!head.equals(MAGIC) || !tail.subarray(8).equals(MAGIC)) throw new MalformedDelta('it does not begin and end as a delta does');
  const length = tail.readUInt32LE(0);
  const begin = delta.size - TAIL_BYTES - length;
  if (length > INDEX_BOUNDS.bytes || begin < MAGIC.length) throw new MalformedDelta(`its index claims ${length} bytes`);
  const packed = Buffer.alloc(length);
  await delta.readInto(packed, begin);
  if (crc32(packed) !== tail.readUInt32LE(4)) throw new MalformedDelta('its index has a wrong checksum');
  const json = decompress(packed, INDEX_BOUNDS.bytes);
  const order = { address, size: json.length, payloadBytes: begin - MAGIC.length };
  return untrustedFiles.read('deltaIndex', order, async (position, count) => json.subarray(position, position + count));
}

interface BlockPosition {
  readonly segment: DeltaSegment;
  /** Positions of the block: in the file, in its segment, and of its payload in the delta. */
  readonly begin: number;
  readonly within: number;
  readonly payload: number;
  readonly kind: number;
  readonly payloadBytes: number;
  readonly length: number;
}

/**
 * Reads any stretch of a file that is stored as a delta, with memory for one block. Its base may be such a file, too. Neither the delta nor the
 * base is trusted, so a reader of the whole file verifies it (`readPieces`).
 */
export class DeltaFile implements Stretches {
  readonly index: DeltaIndex;
  readonly #delta: Stretches;
  readonly #base: Stretches;
  readonly #places: readonly BlockPosition[];
  readonly #block = new Block();
  #present: BlockPosition | undefined;

  /** @param index as `readIndex` has read it from the delta. @throws MalformedDelta when the base is another one. */
  constructor(delta: Stretches, index: DeltaIndex, base: Stretches) {
    if (base.size !== index.base.size) throw new MalformedDelta(`its base has ${base.size} bytes, expected ${index.base.size}`);
    [this.#delta, this.#base, this.index] = [delta, base, index];
    this.#places = listPlaces(index);
  }

  get size(): number {
    return this.index.file.size;
  }

  async readInto(buffer: Uint8Array, position: number): Promise<void> {
    for (let filled = 0; filled < buffer.length;) {
      const place = this.#findBlock(position + filled);
      const block = await this.#read(place);
      const part = block.subarray(position + filled - place.begin).subarray(0, buffer.length - filled);
      buffer.set(part, filled);
      filled += part.length;
    }
  }

  /**
   * Yields the pieces from the first byte to the last. Each is valid until the next one is requested.
   *
   * @throws MalformedDelta naming the segment that does not match.
   */
  async *readPieces(): AsyncGenerator<Uint8Array> {
    let checksum = 0;
    for (const place of this.#places) {
      const block = await this.#read(place);
      checksum = crc32(block, place.within === 0 ? 0 : checksum);
      if (place.within + place.length === place.segment.size && checksum !== place.segment.crc32)
        throw new MalformedDelta(`${JSON.stringify(place.segment.name.slice(0, 200))} has a wrong checksum`);
      yield block;
    }
  }

  #findBlock(position: number): BlockPosition {
    let [low, high] = [0, this.#places.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#places[middle]?.begin ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    const found = this.#places[low];
    if (!found || position >= found.begin + found.length) throw new RangeError(`position ${position} is beyond the file`);
    return found;
  }

  async #read(place: BlockPosition): Promise<Uint8Array> {
    if (this.#present === place) return this.#block.bytes;
    this.#present = undefined;
    const bytes = this.#block.resize(place.length);
    const payload = new Uint8Array(place.payloadBytes);
    const { from } = place.segment;
    await Promise.all([
      this.#delta.readInto(payload, place.payload),
      place.kind < BLOCK_KINDS.bytes && from !== null ? this.#base.readInto(bytes, from + place.within) : undefined,
    ]);
    const problem = this.#rebuild(place, payload);
    if (problem !== undefined) throw new MalformedDelta(`${JSON.stringify(place.segment.name.slice(0, 200))}: ${problem}`);
    this.#present = place;
    return bytes;
  }

  #rebuild({ kind, length, segment: { wordBytes } }: BlockPosition, payload: Uint8Array): string | undefined {
    const { words, bytes } = this.#block;
    switch (kind) {
      case BLOCK_KINDS.same:
        return payload.length === 0 ? undefined : 'a block that did not change has bytes';
      case BLOCK_KINDS.changes:
        // The size of changes is largest when every word changes and has the longest gap.
        return applyChanges(decompress(payload, 4 + 7 * length), words, length, wordBytes);
      case BLOCK_KINDS.differences:
        return applyDifferences(decompress(payload, length), words, length, wordBytes);
      default: {
        const own = kind === BLOCK_KINDS.bytes ? payload : decompress(payload, length);
        if (own.length !== length) return `a block of ${length} bytes has ${own.length}`;
        bytes.set(own);
        return undefined;
      }
    }
  }
}

function listPlaces({ segments }: DeltaIndex): readonly BlockPosition[] {
  const places: BlockPosition[] = [];
  let [begin, payload] = [0, MAGIC.length];
  for (const segment of segments) {
    for (const [i, [kind, payloadBytes]] of segment.blocks.entries()) {
      const within = i * BLOCK_BYTES;
      const length = Math.min(BLOCK_BYTES, segment.size - within);
      places.push({ segment, begin, within, payload, kind, payloadBytes, length });
      begin += length;
      payload += payloadBytes;
    }
  }
  return places;
}

function decompress(packed: Uint8Array, maxBytes: number): Buffer {
  try {
    return zstdDecompressSync(packed, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (error) {
    throw new MalformedDelta(`a part of it cannot be decompressed: ${getMessage(error)}`, { cause: error });
  }
}
