import type { Readable } from 'node:stream';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/**
 * Reads the whole body of an answer, by its events: iterating over it takes several turns of the microtask queue for each piece, and models give
 * thousands of answers. @throws Error when it is longer than `mostBytes`, or breaks off.
 */
export function readAnswerText(answer: Readable, mostBytes: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const createCutError = (): Error => answer.errored ?? new Error('an answer broke off');
  if (answer.destroyed) return Promise.reject(createCutError());
  const pieces: Buffer[] = [];
  let bytes = 0;
  answer.on('data', (piece: Buffer | string) => {
    const read = typeof piece === 'string' ? Buffer.from(piece) : piece;
    bytes += read.length;
    if (bytes > mostBytes) answer.destroy(new Error(`an answer has more than ${formatExactBytes(mostBytes)}`));
    else pieces.push(read);
  });
  answer.once('end', () => resolve(Buffer.concat(pieces).toString()));
  answer.once('error', reject);
  // It also closes after its end, where making an error that nothing reads would cost as much as reading the answer.
  answer.once('close', () => {
    if (!answer.readableEnded) reject(createCutError());
  });
  return promise;
}
