import type { ReadAt } from '../formats/read-at.ts';
import { readSafetensorsHeader } from '../formats/safetensors.ts';
import { getElementBits } from '../formats/safetensors-dtype.ts';
import type { WordBytes } from './delta-words.ts';

/** A part of a file that has a counterpart in files of the same kind: a tensor, or the header before them. */
export interface Segment {
  readonly name: string;
  /** Bytes. */
  readonly begin: number;
  readonly size: number;
  readonly wordBytes: WordBytes;
}

/**
 * Reads the parts of a file, in order and without gaps.
 *
 * @param path whose suffix gives the format. Without safetensors, only files of the same size count as similar. @throws InputError
 * `checkpoint.safetensors`
 */
export async function readLayout(path: string, size: number, readAt: ReadAt): Promise<readonly Segment[]> {
  if (!path.endsWith('.safetensors')) return createUnknownSegments(size);
  const { tensors, dataStart } = await readSafetensorsHeader(path, size, readAt);
  return listPresent([
    { name: 'header', begin: 0, size: dataStart, wordBytes: 1 },
    ...tensors.map(({ name, dtype, begin, end }) => ({
      name: `tensor ${name}`,
      begin: dataStart + begin,
      size: end - begin,
      wordBytes: countWordBytes(dtype),
    })),
  ]);
}

/** Finds the position in a base at which each segment's counterpart begins; undefined for those that have none. */
export function findAlike(segments: readonly Segment[], base: readonly Segment[]): readonly (number | undefined)[] {
  const byName = new Map(base.map((segment) => [segment.name, segment]));
  return segments.map(({ name, size }) => {
    const like = byName.get(name);
    return like?.size === size ? like.begin : undefined;
  });
}

/** Assumes numbers of 32 bits; the remainder has fewer bytes. */
function createUnknownSegments(size: number): readonly Segment[] {
  const whole = size - (size % 4);
  return listPresent([
    { name: `first ${whole} of ${size} bytes`, begin: 0, size: whole, wordBytes: 4 },
    { name: `last ${size - whole} of ${size} bytes`, begin: whole, size: size - whole, wordBytes: 1 },
  ]);
}

function listPresent(segments: readonly Segment[]): readonly Segment[] {
  return segments.filter(({ size }) => size > 0);
}

function countWordBytes(dtype: string): WordBytes {
  const bits = getElementBits(dtype) ?? 8;
  return bits === 16 ? 2 : bits >= 32 ? 4 : 1;
}
