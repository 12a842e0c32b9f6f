import type { Readable } from 'node:stream';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/** The whole body of an answer. @throws Error when it is longer than `mostBytes`. */
export async function readAnswerText(answer: Readable, mostBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    const read = Buffer.from(piece);
    bytes += read.length;
    if (bytes > mostBytes) throw new Error(`an answer has more than ${formatExactBytes(mostBytes)}`);
    pieces.push(read);
  }
  return Buffer.concat(pieces).toString();
}
