import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { open, readdir, truncate, type FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isInPageCache, readLarge } from '../../../src/adapters/checkpoints/large-file.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';

const run = promisify(execFile);
const MIB = 2 ** 20;
const SIZE = 2 * MIB;

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

async function read(handle: FileHandle, size: number): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of readLarge(handle, size)) hash.update(piece);
  return hash.digest('hex');
}

afterEach(() => vi.restoreAllMocks());

describe('a large file', () => {
  for (const size of [MIB, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE + MIB / 2 + 5])
    it(`of ${size} bytes is read whole, however much of it is in the page cache`, async () => {
      await using scratch = await ScratchDirectory.make();
      const bytes = randomBytes(size);
      const path = await scratch.put('policy.bin', bytes);
      await using handle = await open(path);
      expect(await read(handle, size)).toBe(digest(bytes));
      await forget(path);
      expect(await read(handle, size)).toBe(digest(bytes));
      await forget(path);
      await remember(handle, 0, Math.floor(size / 2));
      expect(await read(handle, size)).toBe(digest(bytes));
    });

  it('is not put into the page cache by reading it', async () => {
    await using scratch = await ScratchDirectory.make();
    const bytes = randomBytes(16 * SIZE);
    const path = await scratch.put('policy.bin', bytes);
    await forget(path);
    await using handle = await open(path);
    expect(await read(handle, bytes.length)).toBe(digest(bytes));
    expect(await cached(path)).toBeLessThan(bytes.length / 4);
  });

  it('is read through the page cache where a file system refuses to read past it', async () => {
    await using scratch = await ScratchDirectory.make();
    const bytes = randomBytes(3 * MIB + 5);
    const path = await scratch.put('policy.bin', bytes);
    await forget(path);
    await using handle = await open(path);
    let refused = 0;
    const original = Object.getPrototypeOf(handle).read;
    vi.spyOn(Object.getPrototypeOf(handle), 'read').mockImplementation(function (this: FileHandle, ...asked: unknown[]) {
      if (this === handle) return Reflect.apply(original, this, asked);
      refused += 1;
      return Promise.reject(Object.assign(new Error('invalid argument'), { code: 'EINVAL' }));
    });
    expect(await read(handle, bytes.length)).toBe(digest(bytes));
    expect(refused).toBe(1);
  });

  it('leaves nothing open when reading stops halfway', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', randomBytes(2 * SIZE));
    await forget(path);
    await using handle = await open(path);
    const before = await readdir('/proc/self/fd');
    const pieces = readLarge(handle, 2 * SIZE);
    expect((await pieces.next()).done).toBe(false);
    await pieces.return(undefined);
    const after = await readdir('/proc/self/fd');
    expect(after.length).toBeLessThanOrEqual(before.length);
  });

  it('that became shorter meanwhile ends at its new end', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', randomBytes(4 * SIZE));
    await forget(path);
    await using handle = await open(path);
    let length = 0;
    for await (const piece of readLarge(handle, 4 * SIZE)) {
      if (length === 0) await truncate(path, SIZE + 5);
      length += piece.length;
    }
    expect(length).toBe(SIZE + 5);
  });
});

describe('the page cache', () => {
  it('has what was read a moment ago, and not what was evicted', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', randomBytes(SIZE));
    await using handle = await open(path);
    await forget(path);
    expect(await isInPageCache(handle, SIZE - 1)).toBe(false);
    expect(await isInPageCache(handle, SIZE - 1)).toBe(true);
  });
});
