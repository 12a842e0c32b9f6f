import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { open, readdir, truncate, type FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readLarge } from '../../../src/adapters/checkpoints/large-file.ts';
import { isInPageCache } from '../../../src/adapters/checkpoints/page-cache.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';

const run = promisify(execFile);
const MIB = 2 ** 20;
const STRETCH = 2 * MIB;

/** Has the page cache forget it, once it is on the disk. */
async function forget(path: string): Promise<void> {
  await run('dd', [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']);
}

/** Bytes of the file that are in the page cache. */
async function cached(path: string): Promise<number> {
  const { stdout } = await run('fincore', ['--bytes', '--noheadings', '--output', 'RES', path]);
  return Number(stdout);
}

/** Backwards, so that the kernel reads nothing ahead. */
async function remember(handle: FileHandle, from: number, length: number): Promise<void> {
  const piece = Buffer.alloc(2 ** 16);
  for (let at = from + length - piece.length; at >= from; at -= piece.length) await handle.read(piece, 0, piece.length, at);
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function read(handle: FileHandle, size: number, stretch = STRETCH): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of readLarge(handle, size, stretch)) hash.update(piece);
  return hash.digest('hex');
}

describe('a large file', () => {
  for (const size of [MIB, STRETCH - 1, STRETCH, STRETCH + 1, 3 * STRETCH + MIB / 2 + 5])
    it(`of ${size} bytes is read whole, whatever of it is in the page cache`, async () => {
      await using scratch = await ScratchDirectory.make();
      const bytes = randomBytes(size);
      const path = await scratch.put('policy.bin', bytes);
      await using handle = await open(path);
      expect(await read(handle, size)).toBe(digest(bytes));
      await forget(path);
      expect(await read(handle, size)).toBe(digest(bytes));
      await forget(path);
      await remember(handle, STRETCH, STRETCH);
      expect(await read(handle, size)).toBe(digest(bytes));
    });

  it('that is not in the page cache is not put there', async () => {
    await using scratch = await ScratchDirectory.make();
    const bytes = randomBytes(16 * STRETCH);
    const path = await scratch.put('policy.bin', bytes);
    await forget(path);
    await using handle = await open(path);
    expect(await read(handle, bytes.length)).toBe(digest(bytes));
    expect(await cached(path)).toBeLessThan(bytes.length / 4);
  });

  it('that begins in the page cache and goes on outside of it is read either way, and put there no further', async () => {
    await using scratch = await ScratchDirectory.make();
    const bytes = randomBytes(16 * STRETCH);
    const path = await scratch.put('policy.bin', bytes);
    await forget(path);
    await using handle = await open(path);
    await remember(handle, 0, 4 * STRETCH);
    expect(await read(handle, bytes.length)).toBe(digest(bytes));
    const inCache = await cached(path);
    expect(inCache).toBeGreaterThanOrEqual(4 * STRETCH);
    expect(inCache).toBeLessThan(bytes.length / 2);
  });

  it('is read through the page cache where a disk cannot begin', async () => {
    await using scratch = await ScratchDirectory.make();
    const bytes = randomBytes(3 * MIB);
    const path = await scratch.put('policy.bin', bytes);
    await forget(path);
    await using handle = await open(path);
    // Each stretch but the first begins in the midst of a sector.
    expect(await read(handle, bytes.length, MIB + 8)).toBe(digest(bytes));
  });

  it('may be given up in its midst: nothing of it stays open', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', randomBytes(2 * STRETCH));
    await forget(path);
    await using handle = await open(path);
    const before = await readdir('/proc/self/fd');
    const pieces = readLarge(handle, 2 * STRETCH, STRETCH);
    expect((await pieces.next()).done).toBe(false);
    await pieces.return(undefined);
    const after = await readdir('/proc/self/fd');
    expect(after.length).toBeLessThanOrEqual(before.length);
  });

  it('that became shorter meanwhile ends where it ends', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', randomBytes(4 * STRETCH));
    await forget(path);
    await using handle = await open(path);
    let length = 0;
    for await (const piece of readLarge(handle, 4 * STRETCH, STRETCH)) {
      if (length === 0) await truncate(path, STRETCH + 5);
      length += piece.length;
    }
    expect(length).toBe(STRETCH + 5);
  });
});

describe('the page cache', () => {
  it('has what was read a moment before, and not what it was made to forget', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', randomBytes(STRETCH));
    await using handle = await open(path);
    await forget(path);
    expect(await isInPageCache(handle, STRETCH - 1)).toBe(false);
    expect(await isInPageCache(handle, STRETCH - 1)).toBe(true);
  });
});
