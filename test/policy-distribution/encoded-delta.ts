import { crc32, zstdCompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Digest } from '../../src/kernel/ids.ts';
import type { Stretches } from '../../src/policy-distribution/delta/delta-block.ts';
import { encodeDelta, type DeltaSide } from '../../src/policy-distribution/delta/delta-encoder.ts';
import { MAGIC } from '../../src/policy-distribution/delta/delta-format.ts';
import { readLayout } from '../../src/policy-distribution/delta/delta-layout.ts';

/**
 * @param path whose ending says what both are.
 * @param called what the delta says that the file is.
 * @throws RangeError when it would take more than `maxBytes`.
 */
export async function encoded(
  path: string,
  file: Buffer,
  base: Buffer,
  maxBytes: number = Infinity,
  called: Digest = digestBytes(file),
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const side = async (bytes: Buffer, digest: Digest): Promise<DeltaSide> => ({
    digest,
    layout: await readLayout(path, bytes.length, async (position, length) => bytes.subarray(position, position + length)),
    bytes: inMemory(bytes),
  });
  const write = async (bytes: Uint8Array): Promise<void> => void parts.push(bytes);
  const { signal } = new AbortController();
  if (await encodeDelta(await side(file, called), await side(base, digestBytes(base)), { maxBytes, write, signal }))
    return Buffer.concat(parts);
  throw new RangeError('the delta would be longer');
}

export function inMemory(bytes: Uint8Array): Stretches {
  return {
    size: bytes.length,
    async readInto(buffer, position) {
      expect(position + buffer.length).toBeLessThanOrEqual(bytes.length);
      buffer.set(bytes.subarray(position, position + buffer.length));
    },
  };
}

/** A delta of one index, and no blocks. */
export function deltaOf(index: object): Buffer {
  return framed(zstdCompressSync(JSON.stringify(index)));
}

/** @param index as it is, whatever it is. @param blocks bytes before it. */
export function framed(index: Uint8Array, blocks: Uint8Array = Buffer.alloc(0)): Buffer {
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32LE(index.length, 0);
  numbers.writeUInt32LE(crc32(index), 4);
  return Buffer.concat([MAGIC, blocks, index, numbers, MAGIC]);
}
