import type { IncomingMessage } from 'node:http';
import type { Problem } from './dialect.ts';

/** A conversation of a million tokens has some megabytes. */
const MOST_BYTES = 32 * 2 ** 20;

export type ReadBody = { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'misfit'; readonly problem: Problem };

/** @throws when the connection breaks off. */
export async function readBody(request: IncomingMessage): Promise<ReadBody> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    const data = Buffer.from(piece);
    bytes += data.length;
    // The rest is read, and not kept: the program hears why only when it has been heard out.
    if (bytes <= MOST_BYTES) pieces.push(data);
  }
  if (bytes > MOST_BYTES) return misfit(413, `the request has ${bytes} bytes; expected at most ${MOST_BYTES}`);
  try {
    return { kind: 'json', value: JSON.parse(Buffer.concat(pieces).toString('utf8')) };
  } catch {
    return misfit(400, 'the request is no JSON');
  }
}

function misfit(status: number, detail: string): ReadBody {
  return { kind: 'misfit', problem: { status, type: 'invalid_request_error', code: 'invalid_request', detail } };
}
