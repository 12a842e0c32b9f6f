/** Bytes that are asked for, the last one included. */
export type RequestedRange =
  { readonly kind: 'all' } | { readonly kind: 'part'; readonly first: number; readonly last: number } | { readonly kind: 'none' };

const ONE_RANGE = /^bytes=(?<first>\d{0,16})-(?<last>\d{0,16})$/;

/**
 * What the header `Range` asks for (RFC 9110, section 14.2). A request for several parts, or for an invalid range, gets all of it, as a server
 * may answer.
 *
 * @param size of the whole, in bytes.
 */
export function parseRequestedRange(header: string | undefined, size: number): RequestedRange {
  const { first = '', last = '' } = ONE_RANGE.exec(header ?? '')?.groups ?? {};
  if (first === '' && last === '') return { kind: 'all' };
  if (first === '') return tail(Number(last), size);
  const from = Number(first);
  const to = last === '' ? size - 1 : Math.min(size - 1, Number(last));
  if (last !== '' && Number(last) < from) return { kind: 'all' };
  return from < size ? { kind: 'part', first: from, last: to } : { kind: 'none' };
}

function tail(bytes: number, size: number): RequestedRange {
  return bytes === 0 || size === 0 ? { kind: 'none' } : { kind: 'part', first: Math.max(0, size - bytes), last: size - 1 };
}
