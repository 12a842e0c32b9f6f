import { hasErrno } from '../../kernel/errno.ts';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { createAbortError } from '../../kernel/abort.ts';
import { getMessage, InfrastructureError } from '../../kernel/errors.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { UnavailableError } from './client-errors.ts';

/** Requests as they go out, and answers as they come in. On Node's own `http`, which waits for an answer as long as its options say: a server reads large checkpoints first. */

export interface WireRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** More than any answer that is not a stream: longer ones come from something else, and must not fill the memory. */
const MOST_ANSWER_BYTES = 64 * 2 ** 20;

/**
 * Resolves with the answer's head; the caller reads its body, or destroys it. @throws UnavailableError when the connection fails;
 * InfrastructureError where no other attempt can succeed; the signal's reason.
 */
export function openAnswer(url: string, { method, headers, body, signal }: WireRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.startsWith('https:') ? secureRequest : plainRequest;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const request = send(url, { method, headers: { ...headers, ...length }, signal }, resolve);
  request.on('error', (error) => reject(createUnreachableError(url, error, signal)));
  request.end(body);
  return promise;
}

/** @throws as `openAnswer` does, and UnavailableError when it is longer than any answer of Muster. */
export async function readText(answer: IncomingMessage, url: string, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readChunks(answer, url, signal)) {
    length += chunk.length;
    if (length > MOST_ANSWER_BYTES)
      throw new UnavailableError('server.answer', `${url} answered with more than ${formatExactBytes(MOST_ANSWER_BYTES)}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Reads the body of an answer in chunks. Leaving early closes the connection. @throws as `openAnswer` does. */
export async function* readChunks(answer: IncomingMessage, url: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer) if (chunk instanceof Uint8Array) yield chunk;
  } catch (error) {
    throw createUnreachableError(url, error, signal);
  }
}

function createUnreachableError(url: string, error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return createAbortError(signal);
  const { origin } = new URL(url);
  if (hasErrno(error, 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'))
    return new InfrastructureError('server.unreachable', `${origin} speaks no TLS; did you mean ${origin.replace('https:', 'http:')}?`, {
      cause: error,
    });
  return new UnavailableError('server.unreachable', `${origin} cannot be reached: ${getReason(error)}; is "muster serve" running there?`, {
    cause: error,
  });
}

/** When a name has several addresses, each has failed in its own way. */
function getReason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(getMessage).join(', ');
  return getMessage(error);
}

/** Events, episodes and calls have far shorter lines. A longer line comes from something else, and must not fill the memory. */
const MOST_LINE_CHARACTERS = 16 * 2 ** 20;

/**
 * Yields text in lines without their ends. Text after the last end is dropped: a broken connection has cut it off.
 *
 * @throws the error of `createTooLongError` for a line of more characters than the limit.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, createTooLongError: (most: number) => Error): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MOST_LINE_CHARACTERS) throw createTooLongError(MOST_LINE_CHARACTERS);
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}
