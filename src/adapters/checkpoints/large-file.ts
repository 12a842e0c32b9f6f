import type { FileHandle } from 'node:fs/promises';
import { alignedBuffer, isUnknownToFileSystem, openDirect } from '../../policy-distribution/files/direct-files.ts';
import { isInPageCache } from './page-cache.ts';

/** From this size on the look at what is in the page cache costs nothing beside the reading. In bytes. */
export const LARGE_BYTES = 64 * 2 ** 20;

/** Is taken to be in the page cache as a whole, or not at all: what a trainer has just written is, what came from elsewhere is not. In bytes. */
const STRETCH_BYTES = 64 * 2 ** 20;
/** Bytes of a read: at this size a disk is as fast as it gets. */
const BLOCK_BYTES = 2 ** 20;

/**
 * The bytes of a file, from the first to the last. What is not in the page cache is read past it: whoever copies a checkpoint needs memory for
 * the copy, and getting as much again for a file that is read once takes longer than reading it.
 *
 * Each piece is good until the next is asked for.
 *
 * @param size in bytes, as far as known: it decides only how the file is read.
 * @param stretch in bytes, a multiple of 1 MiB.
 */
export async function* readLarge(handle: FileHandle, size: number, stretch = STRETCH_BYTES): AsyncGenerator<Uint8Array> {
  await using direct = await openDirect(handle, 'read');
  const blocks = alignedBlocks();
  for (let position = 0; ;) {
    const end = position + stretch;
    const middle = Math.min(position + stretch / 2, size - 1);
    if (direct && !(await isInPageCache(handle, middle))) position = yield* readPast(direct, blocks, position, end);
    position = yield* readThrough(handle, blocks[0], position, end);
    if (position < end) return;
  }
}

type Blocks = readonly [Uint8Array, Uint8Array];

function alignedBlocks(): Blocks {
  const buffer = alignedBuffer(2 * BLOCK_BYTES);
  return [new Uint8Array(buffer, 0, BLOCK_BYTES), new Uint8Array(buffer, BLOCK_BYTES, BLOCK_BYTES)];
}

/** Reads one block while the one before is used. @returns where it came to, which is before `end` where it can go no further this way. */
async function* readPast(direct: FileHandle, [first, second]: Blocks, from: number, end: number): AsyncGenerator<Uint8Array, number> {
  let position = from;
  let reading = readDirectly(direct, first, position);
  for (let free = second; ; free = free === first ? second : first) {
    const piece = await reading;
    position += piece.length;
    const isLast = piece.length < BLOCK_BYTES || position >= end;
    if (!isLast) reading = readDirectly(direct, free, position);
    if (piece.length > 0) yield piece;
    if (isLast) return position;
  }
}

/** Fewer bytes than the block has where the file ends, and none where the file system does not read this way after all. */
function readDirectly(direct: FileHandle, block: Uint8Array, position: number): Promise<Uint8Array> {
  const reading = direct.read(block, 0, BLOCK_BYTES, position).then(
    ({ bytesRead }) => block.subarray(0, bytesRead),
    (error: unknown) => {
      if (!isUnknownToFileSystem(error)) throw error;
      return block.subarray(0, 0);
    },
  );
  // Whoever stops asking has nobody left to tell it to.
  reading.catch(() => undefined);
  return reading;
}

/** @returns where it came to: before `end` only where the file ends. */
async function* readThrough(handle: FileHandle, block: Uint8Array, from: number, end: number): AsyncGenerator<Uint8Array, number> {
  let position = from;
  while (position < end) {
    const { bytesRead } = await handle.read(block, 0, Math.min(BLOCK_BYTES, end - position), position);
    if (bytesRead === 0) break;
    position += bytesRead;
    yield block.subarray(0, bytesRead);
  }
  return position;
}
