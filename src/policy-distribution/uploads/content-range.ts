import { InputError } from '../../kernel/errors.ts';

/** The bytes of a whole that a request carries. */
export interface CarriedBytes {
  readonly offset: number;
  /** The number of bytes that come. */
  readonly length: number;
  /** The size of the whole. */
  readonly size: number;
}

const PART = /^bytes (?<first>\d{1,16})-(?<last>\d{1,16})\/(?<size>\d{1,16})$/;
/** The form that sends no bytes, because the whole has come. */
const NONE = /^bytes \*\/(?<size>\d{1,16})$/;

/**
 * Parses what `Content-Range` (RFC 9110, section 14.4) and `Content-Length` say of a PUT. Without a range the whole comes.
 *
 * @throws InputError `upload.range`, naming the header.
 */
export function parseCarriedBytes(contentRange: string | undefined, contentLength: string | undefined): CarriedBytes {
  const length = parseLength(contentLength);
  if (contentRange === undefined) return { offset: 0, length, size: length };
  const none = NONE.exec(contentRange)?.groups?.['size'];
  if (none !== undefined && length === 0) return { offset: Number(none), length, size: Number(none) };
  const { first, last, size } = PART.exec(contentRange)?.groups ?? {};
  const part = { offset: Number(first), length: Number(last) - Number(first) + 1, size: Number(size) };
  const isRight = Object.values(part).every(Number.isSafeInteger) && part.length > 0 && Number(last) < part.size;
  if (isRight && part.length === length) return part;
  const expected = `"bytes FIRST-LAST/SIZE" with ${length} bytes from FIRST to LAST, as Content-Length has it, or "bytes */SIZE" without a body`;
  throw new InputError('upload.range', `Content-Range: expected ${expected}, got ${JSON.stringify(contentRange.slice(0, 100))}`);
}

/** A body without a length cannot be counted against a quota before it has arrived. */
function parseLength(contentLength: string | undefined): number {
  const length = /^\d{1,16}$/.test(contentLength ?? '') ? Number(contentLength) : Number.NaN;
  if (Number.isSafeInteger(length)) return length;
  throw new InputError(
    'upload.range',
    'Content-Length: expected the number of bytes that come; a body in chunks (Transfer-Encoding) is refused, so send a file of known length',
  );
}
