import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import type { UploadContent } from '../../../../pool/ports/upload-target.ts';

/** Large enough for few round trips to the disk, small enough for hundreds of uploads at the same time. */
const PIECE_BYTES = 128 * 1024;

/**
 * The pieces of an upload, in order. A piece is good only until the next is asked for: all of a file's are read into the same memory, so
 * that a large file leaves no more garbage than a small one.
 */
export function piecesOf(content: UploadContent, signal: AbortSignal): AsyncIterable<Buffer> {
  return content.kind === 'file' ? ofFile(content.hostPath) : ofStream(addAbortSignal(signal, content.stream));
}

async function* ofFile(hostPath: string): AsyncGenerator<Buffer> {
  await using file = await open(hostPath);
  const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(memory, 0, memory.length);
    if (bytesRead === 0) return;
    yield memory.subarray(0, bytesRead);
  }
}

async function* ofStream(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    if (chunk instanceof Uint8Array) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    else yield Buffer.from(String(chunk));
  }
}
