import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { BLOCK_BYTES } from '../../src/policy-distribution/files/block-digest.ts';
import { copyInto, digestFile, type Digested } from '../../src/policy-distribution/files/digested-copy.ts';
import { ScratchDirectory } from './scratch-directory.ts';

/** What decides whether a thread is worth it; the bytes themselves are few. */
const WAYS = [
  ['in this thread', 0],
  ['in a thread of its own', 2 ** 30],
] as const;
const COPYING = { clock: systemClock, isSynced: true };
const SIZES = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 12 * BLOCK_BYTES + 7];

describe.each(WAYS)('a copy that is hashed %s', (_way, expectedSize) => {
  it.each(SIZES)('equals its source, and so does its digest: %d bytes', async (size) => {
    await using scratch = await ScratchDirectory.make();
    const content = scrambled(size);
    const { digested, written } = await copied(scratch, inPieces(content, 300_001), expectedSize);
    expect(digested).toEqual({ digest: digestBytes(content), size });
    expect(written.equals(content)).toBe(true);
  });

  it.each(SIZES)('can be hashed again in place: %d bytes', async (size) => {
    await using scratch = await ScratchDirectory.make();
    const content = scrambled(size);
    const path = await scratch.put('file', content);
    await using handle = await open(path);
    const seen: number[] = [];
    const digested = await digestFile(handle, path, expectedSize, async (bytes) => void seen.push(bytes));
    expect(digested).toEqual({ digest: digestBytes(content), size });
    expect(seen).toEqual(seen.map((_bytes, block) => block * BLOCK_BYTES));
  });

  it('fails with the error of its source', async () => {
    await using scratch = await ScratchDirectory.make();
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield scrambled(3 * BLOCK_BYTES);
      throw new Error('the connection broke');
    };
    await expect(copied(scratch, broken(), expectedSize)).rejects.toThrow('the connection broke');
  });

  it.each(['write', 'datasync'] as const)('says that the disk is full when a %s does', async (operation) => {
    await using scratch = await ScratchDirectory.make();
    const path = join(scratch.path, 'copy');
    await using handle = await open(path, 'wx+');
    vi.spyOn(handle, operation).mockRejectedValue(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
    const copying = copyInto(handle, path, inPieces(scrambled(66 * BLOCK_BYTES + 1), BLOCK_BYTES), expectedSize, COPYING);
    await expect(copying).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.full' });
  });
});

async function copied(
  scratch: ScratchDirectory,
  bytes: AsyncIterable<Uint8Array>,
  expectedSize: number,
): Promise<{ digested: Digested; written: Buffer }> {
  const path = join(scratch.path, 'copy');
  await using handle = await open(path, 'wx+');
  const digested = await copyInto(handle, path, bytes, expectedSize, COPYING);
  return { digested, written: await readFile(path) };
}

async function* inPieces(content: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += length) yield content.subarray(at, at + length);
}

/** No two blocks of it are alike. */
function scrambled(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; i += 1) bytes[i] = (i ^ (i >>> 8) ^ (i >>> 16)) & 0xff;
  return bytes;
}
