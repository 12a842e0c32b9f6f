import { z } from 'zod';
import { isDigest } from '../../kernel/ids.ts';
import type { JsonBounds } from '../../kernel/json-bounds.ts';

/**
 * A file encoded by what differs from another one, its base. docs/delta-format.md describes it for other programs that write or read it.
 *
 *     magic (8 bytes) | blocks, one after the other | index: JSON, zstd | bytes of the index (u32) | CRC-32 of the index (u32) | magic
 *
 * The index comes last, so that a delta is written in one go. Numbers are little-endian.
 */
export const MAGIC = Buffer.from('MUSTERD1', 'latin1');
export const TAIL_BYTES = 8 + MAGIC.length;
/** A segment has a dozen values, a block three: those of all tensors that a safetensors header may have, and of some hundred gigabytes. */
export const INDEX_BOUNDS: JsonBounds = { bytes: 16 * 2 ** 20, depth: 8, values: 2_500_000 };

/** How the bytes of a block are encoded. */
export const BLOCK_KINDS = {
  /** They are the base's. */
  same: 0,
  /** The base's, but for some words (delta-words.ts, `Changes`); zstd. */
  changes: 1,
  /** The base's, XOR (delta-words.ts, `differences`); zstd. */
  differences: 2,
  /** As they are. */
  bytes: 3,
  /** As they are; zstd. */
  compressed: 4,
} as const;

const sized = { digest: z.string().refine(isDigest), size: z.int().min(0) };

export const indexSchema = z.strictObject({
  format: z.literal('muster-delta/1'),
  file: z.strictObject(sized),
  base: z.strictObject(sized),
  /** In the file's order, without gaps: a tensor each, say. */
  segments: z.array(
    z.strictObject({
      name: z.string(),
      /** Bytes; cut into blocks of `BLOCK_BYTES`, the last one shorter. */
      size: z.int().min(1),
      wordBytes: z.literal([1, 2, 4]),
      /** Where in the base its like begins; null when there is none. */
      from: z.int().min(0).nullable(),
      crc32: z.int().min(0).max(0xffff_ffff),
      /** Kind and bytes of each block. */
      blocks: z.array(z.tuple([z.int().min(0).max(4), z.int().min(0)])),
    }),
  ),
});
export type DeltaIndex = z.infer<typeof indexSchema>;
export type DeltaSegment = DeltaIndex['segments'][number];

/** What was to be a delta is none, or not whole. */
export class MalformedDelta extends Error {
  override readonly name = 'MalformedDelta';
}
