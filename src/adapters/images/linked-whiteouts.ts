import { Header } from 'tar';

const BLOCK = 512;
const TYPE = 156;
const HARD_LINK = '1'.charCodeAt(0);
const CHECKSUM = { at: 148, digits: 6 };

/**
 * Docker keeps the whiteouts of a layer as hard links to one another, and writes each but the first as a plain file with the target of a link, which
 * the parser refuses. Here they become hard links, because only the name of a whiteout counts. A size in an extended header is not read; only
 * files of more than 8 GiB have one.
 */
export async function* markLinkedWhiteouts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let contentLeft = 0;
  for await (const chunk of chunks) {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    let at = Math.min(contentLeft, bytes.length);
    contentLeft -= at;
    while (bytes.length - at >= BLOCK) {
      const size = markHeader(bytes.subarray(at, at + BLOCK));
      const next = Math.min(at + BLOCK + size, bytes.length);
      contentLeft = at + BLOCK + size - next;
      at = next;
    }
    yield bytes.subarray(0, at);
    held = bytes.subarray(at);
  }
  yield held;
}

/** @returns how many bytes of content follow, with their padding. */
function markHeader(block: Buffer): number {
  const header = readHeader(block);
  if (!header?.cksumValid) return 0;
  const { type, linkpath, size = 0 } = header;
  if ((type === 'File' || type === 'OldFile') && linkpath && size === 0) {
    const sum = (header.cksum ?? 0) - (block[TYPE] ?? 0) + HARD_LINK;
    block[TYPE] = HARD_LINK;
    block.write(`${sum.toString(8).padStart(CHECKSUM.digits, '0')}\0 `, CHECKSUM.at, 'latin1');
  }
  return Math.ceil(size / BLOCK) * BLOCK;
}

/** Returns undefined for a block that the tar parser later refuses, with the reason. */
function readHeader(block: Buffer): Header | undefined {
  try {
    return new Header(block);
  } catch {
    return undefined;
  }
}
