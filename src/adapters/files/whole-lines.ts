import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ignoreMissing } from '../../kernel/errno.ts';

/** Appends a file to another one, except for an unfinished last line. The other one exists afterwards in any case. */
export async function appendWholeLines(from: string, to: string): Promise<void> {
  const size = await measureWholeLines(from);
  const source = size === 0 ? Readable.from([]) : createReadStream(from, { end: size - 1 });
  await pipeline(source, createWriteStream(to, { flags: 'a', flush: true }));
}

/** Counts the bytes up to the last line feed. A line has at most some hundred kilobytes, so the end of the file is searched piece by piece. */
async function measureWholeLines(path: string): Promise<number> {
  await using file = await open(path).catch(ignoreMissing);
  if (file === undefined) return 0;
  const piece = Buffer.alloc(64 * 1024);
  for (let end = (await file.stat()).size; end > 0;) {
    const start = Math.max(0, end - piece.length);
    const { bytesRead } = await file.read(piece, 0, end - start, start);
    const feed = piece.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (feed >= 0) return start + feed + 1;
    end = start;
  }
  return 0;
}
