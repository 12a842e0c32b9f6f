import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { getDigestHex } from '../../policy-distribution/checkpoint.ts';
import type { DeltaEncodedContent } from '../../policy-distribution/delivery/delta-encoded-contents.ts';
import type { StoredObject } from '../../policy-distribution/files/stored-object.ts';
import { MANIPULATION, parseTags } from './requested-delta.ts';

/** Answers with a file, or the requested part of it. @param count receives the number of bytes as they are sent. */
export async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { digest, size, hostPath }: StoredObject,
  count: (bytes: number) => void,
): Promise<void> {
  const tag = formatEntityTag(getDigestHex(digest));
  const headers = { 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes', 'cache-control': 'private', etag: tag };
  if (parseTags(request.headers['if-none-match']).includes(getDigestHex(digest))) return void response.writeHead(304, headers).end();
  const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === tag;
  const range = parseRequestedRange(isSame ? request.headers.range : undefined, size);
  switch (range.kind) {
    case 'none':
      return void response.writeHead(416, { ...headers, 'content-range': `bytes */${size}` }).end();
    case 'all':
      response.writeHead(200, { ...headers, 'content-length': size });
      return await send(request, response, hostPath, {}, count);
    case 'part': {
      const { first, last } = range;
      response.writeHead(206, { ...headers, 'content-length': last - first + 1, 'content-range': `bytes ${first}-${last}/${size}` });
      return await send(request, response, hostPath, { start: first, end: last }, count);
    }
  }
}

/** Answers with the delta of a file that the other side has. */
export async function sendDelta(
  request: IncomingMessage,
  response: ServerResponse,
  { digest, base, bytes, path }: DeltaEncodedContent,
  count: (bytes: number) => void,
): Promise<void> {
  response.writeHead(226, {
    'content-type': 'application/octet-stream',
    'content-length': bytes,
    'cache-control': 'private',
    etag: formatEntityTag(getDigestHex(digest)),
    im: MANIPULATION,
    'delta-base': formatEntityTag(getDigestHex(base)),
  });
  await send(request, response, path, {}, count);
}

function formatEntityTag(hex: string): string {
  return `"${hex}"`;
}

async function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  path: string,
  part: { readonly start?: number; readonly end?: number },
  count: (bytes: number) => void,
): Promise<void> {
  if (method === 'HEAD') return void response.end();
  const countBytes = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      count(chunk.length);
      yield chunk;
    }
  };
  await pipeline(createReadStream(path, part), countBytes, response);
}

/** Requested bytes, the last one included. */
export type RequestedRange =
  { readonly kind: 'all' } | { readonly kind: 'part'; readonly first: number; readonly last: number } | { readonly kind: 'none' };

const ONE_RANGE = /^bytes=(?<first>\d{0,16})-(?<last>\d{0,16})$/;

/**
 * Reads the range in the header `Range` (RFC 9110, section 14.2). A request for several parts, or for an invalid range, gets the whole file, as the
 * RFC allows.
 *
 * @param size of the whole, in bytes.
 */
function parseRequestedRange(header: string | undefined, size: number): RequestedRange {
  const { first = '', last = '' } = ONE_RANGE.exec(header ?? '')?.groups ?? {};
  if (first === '' && last === '') return { kind: 'all' };
  if (first === '') return parseTail(Number(last), size);
  const from = Number(first);
  const to = last === '' ? size - 1 : Math.min(size - 1, Number(last));
  if (last !== '' && Number(last) < from) return { kind: 'all' };
  return from < size ? { kind: 'part', first: from, last: to } : { kind: 'none' };
}

function parseTail(bytes: number, size: number): RequestedRange {
  return bytes === 0 || size === 0 ? { kind: 'none' } : { kind: 'part', first: Math.max(0, size - bytes), last: size - 1 };
}
