import { open, stat, type FileHandle } from 'node:fs/promises';
import { isDiskFull, ignoreMissing, getReason } from '../../kernel/errno.ts';
import { InfrastructureError, MusterError } from '../../kernel/errors.ts';

/** Operations on the store's files, with errors that name the store. */

/** @throws InfrastructureError `store.full`, `store.unusable`; errors of Muster's own pass through. */
export async function translateErrors<Value>(path: string, operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    if (isDiskFull(error)) {
      throw new InfrastructureError('store.full', `store: no space left for ${path}; free some, or set stateDir to a larger disk`, {
        cause: error,
      });
    }
    const remedy = 'set stateDir to a directory that this user may write';
    throw new InfrastructureError('store.unusable', `store: ${path}: ${getReason(error, path)}; ${remedy}`, { cause: error });
  }
}

/** @param position in the file; the end of the last write when left out. */
export async function writeAll(handle: FileHandle, chunk: Uint8Array, position?: number): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    const at = position === undefined ? null : position + written;
    written += (await handle.write(chunk, written, chunk.length - written, at)).bytesWritten;
  }
}

/** Returns up to `length` bytes, fewer only at the file's end. */
export async function readAt(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(length);
  return buffer.subarray(0, await readInto(handle, buffer, position));
}

/** Fills the buffer. @returns the number of bytes, fewer than its length only at the file's end. */
export async function readInto(handle: FileHandle, buffer: Uint8Array, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

export interface FileFacts {
  /** Bytes. */
  readonly size: number;
  /** The time of the last write or use, in milliseconds since 1970. */
  readonly touchedMs: number;
  /** Whether the file has another link, for example in the inbox of a sandbox. */
  readonly isLinked: boolean;
}

export async function readFacts(path: string): Promise<FileFacts | undefined> {
  const stats = await stat(path).catch(ignoreMissing);
  return stats && { size: stats.size, touchedMs: stats.mtimeMs, isLinked: stats.nlink > 1 };
}

/** Syncs the directory. Otherwise a power cut could undo the rename although the file itself is on disk. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r');
  await directory.sync();
}
