import type { FileHandle } from 'node:fs/promises';

/**
 * Whether a byte of a file is in the page cache: a read of it is one for which the kernel does not count that this process had a disk read. Whatever
 * else the process reads from a disk at that moment makes it say no, so it is to be asked where a wrong answer costs time and nothing else. It may
 * bring the byte's surroundings into the page cache.
 */
export async function isInPageCache(handle: FileHandle, position: number): Promise<boolean> {
  const before = process.resourceUsage().fsRead;
  await handle.read(Buffer.alloc(1), 0, 1, position);
  return process.resourceUsage().fsRead === before;
}
