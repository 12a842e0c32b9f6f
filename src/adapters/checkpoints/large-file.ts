import type { FileHandle } from 'node:fs/promises';
import { allocateAligned, isUnknownToFileSystem, openDirect } from '../../policy-distribution/files/direct-files.ts';

/** For files of at least this many bytes, checking whether the file is in the page cache costs nothing compared with reading it. */
export const LARGE_BYTES = 64 * 2 ** 20;

/** Bytes of a read: at this size a disk is as fast as it gets. */
const BLOCK_BYTES = 2 ** 20;

/**
 * Reads a file from the first byte to the last, past the page cache unless its middle is cached: a checkpoint is copied once, and getting memory for
 * it can take longer than the disk. Each piece is valid until the next is requested.
 *
 * @param size in bytes, as far as known: it only decides how the file is read.
 */
export async function* readLarge(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  const isCached = await isInPageCache(handle, Math.floor(size / 2));
  await using direct = isCached ? undefined : await openDirect(handle, 'read');
  const block = new Uint8Array(allocateAligned(BLOCK_BYTES));
  let source = direct ?? handle;
  for (let position = 0; ;) {
    const { bytesRead } = await readBlock(source, block, position);
    // The file ends, or its file system does not support reading on in this way.
    if (source !== handle && bytesRead < BLOCK_BYTES) source = handle;
    else if (bytesRead === 0) return;
    if (bytesRead > 0) yield block.subarray(0, bytesRead);
    position += bytesRead;
  }
}

async function readBlock(source: FileHandle, block: Uint8Array, position: number): Promise<{ readonly bytesRead: number }> {
  return source.read(block, 0, block.length, position).catch((error: unknown) => {
    if (isUnknownToFileSystem(error)) return { bytesRead: 0 };
    throw error;
  });
}

/**
 * Whether a byte of a file is in the page cache: reading it then does not increase the process's count of disk reads. Any other disk read of the
 * process at that moment makes the answer false, so use it only where a wrong answer costs nothing but time. It may bring the surrounding bytes into
 * the page cache.
 */
export async function isInPageCache(handle: FileHandle, position: number): Promise<boolean> {
  const before = process.resourceUsage().fsRead;
  await handle.read(Buffer.alloc(1), 0, 1, position);
  return process.resourceUsage().fsRead === before;
}
