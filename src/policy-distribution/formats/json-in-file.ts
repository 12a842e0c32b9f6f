import { decodeUtf8, JsonProblem, JsonScan, type JsonBounds } from '../../kernel/json-bounds.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import type { ReadAt } from './read-at.ts';

/** Bytes in memory at once, so that a file beyond a bound is refused early. */
const PIECE_BYTES = 256 * 1024;

/**
 * Reads the text of the JSON in a stretch of a file, within bounds. It is measured while it is read, and reading ends where it exceeds them.
 *
 * @throws JsonProblem; errors of `readAt`.
 */
export async function readJsonText(readAt: ReadAt, position: number, length: number, bounds: JsonBounds): Promise<string> {
  if (length > bounds.bytes) throw new JsonProblem(`its JSON has ${formatExactBytes(length)}`, `at most ${formatExactBytes(bounds.bytes)}`);
  const scan = new JsonScan(bounds);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < length;) {
    const piece = await readAt(position + at, Math.min(PIECE_BYTES, length - at));
    if (piece.length === 0) throw new JsonProblem(`it ends after ${at} bytes`, `${length}`);
    scan.push(piece);
    pieces.push(piece);
    at += piece.length;
  }
  return decodeUtf8(Buffer.concat(pieces));
}
