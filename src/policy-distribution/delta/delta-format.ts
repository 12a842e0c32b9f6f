import { z } from 'zod';
import { isDigest } from '../../kernel/ids.ts';
import type { JsonBounds } from '../../kernel/json-bounds.ts';

/**
 * A file encoded as its difference from another one, its base. docs/delta-format.md describes it for other programs.
 *
 *      magic (8 bytes) | blocks, one after the other | index: JSON, zstd | bytes of the index (u32) | CRC-32 of the index (u32) | magic
 *
 * The index comes last, so that a delta is written in one pass. Numbers are little-endian.
 */
export const MAGIC = Buffer.from('MUSTERD1', 'latin1');
export const TAIL_BYTES = 8 + MAGIC.length;
/**
 * A segment has a dozen values, a block three: enough for all tensors that a safetensors header may have, and for some hundred gigabytes.
 */
export const INDEX_BOUNDS: JsonBounds = { bytes: 16 * 2 ** 20, depth: 8, values: 2_500_000 };

/** How the bytes of a block are encoded. */
export const BLOCK_KINDS = {
  /** The bytes of the base. */
  same: 0,
  /** The bytes of the base with some changed words (delta-words.ts, `Changes`); zstd. */
  changes: 1,
  /** XOR with the base (delta-words.ts, `differences`); zstd. */
  differences: 2,
  /** The bytes themselves. */
  bytes: 3,
  /** The bytes themselves; zstd. */
  compressed: 4,
} as const;

const sized = { digest: z.string().refine(isDigest), size: z.int().min(0) };

export const indexSchema = z.strictObject({
  format: z.literal('muster-delta/1'),
  file: z.strictObject(sized),
  base: z.strictObject(sized),
  /** Segments in the file's order, without gaps, such as one for each tensor. */
  segments: z.array(
    z.strictObject({
      name: z.string(),
      /** Bytes; divided into blocks of `BLOCK_BYTES`, the last one shorter. */
      size: z.int().min(1),
      wordBytes: z.literal([1, 2, 4]),
      /** The position in the base at which the similar segment begins; null when there is none. */
      from: z.int().min(0).nullable(),
      crc32: z.int().min(0).max(0xffff_ffff),
      /** Kind and bytes of each block. */
      blocks: z.array(z.tuple([z.int().min(0).max(4), z.int().min(0)])),
    }),
  ),
});
export type DeltaIndex = z.infer<typeof indexSchema>;
export type DeltaSegment = DeltaIndex['segments'][number];

/** The data is no delta, or an incomplete one. */
export class MalformedDelta extends Error {
  override readonly name = 'MalformedDelta';
}
