import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { hasErrno } from '../../kernel/errno.ts';

/**
 * Reading and writing past the page cache (`O_DIRECT` in `open(2)`): of whole blocks, at positions that are multiples of a block, from memory that
 * begins at a page. Where a file system does not support that, the file does not open this way, or an operation fails with EINVAL.
 */

/** Opens a file a second time, whatever its name refers to by now. Returns undefined where it is only readable through the page cache. */
export async function openDirect({ fd }: Pick<FileHandle, 'fd'>, access: 'read' | 'write'): Promise<FileHandle | undefined> {
  const flags = access === 'read' ? constants.O_RDONLY : constants.O_WRONLY;
  return open(`/proc/self/fd/${fd}`, flags | constants.O_DIRECT).catch(() => undefined);
}

/** A resizable buffer begins at a page; others begin anywhere. */
export function allocateAligned(bytes: number): ArrayBuffer {
  return new ArrayBuffer(bytes, { maxByteLength: bytes });
}

export function isUnknownToFileSystem(error: unknown): boolean {
  return hasErrno(error, 'EINVAL');
}
