import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCarriedBytes } from '../../src/policy-distribution/uploads/content-range.ts';

describe('what a PUT carries', () => {
  it('is the whole without a range', () => {
    expect(parseCarriedBytes(undefined, '5000')).toEqual({ offset: 0, length: 5000, size: 5000 });
  });

  it('is empty when all bytes have come', () => {
    expect(parseCarriedBytes('bytes */5000', '0')).toEqual({ offset: 5000, length: 0, size: 5000 });
  });

  it('is the part that the range says', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.integer({ min: 1, max: 2 ** 40 }), fc.nat(2 ** 40), (offset, length, rest) => {
        const size = offset + length + rest;
        expect(parseCarriedBytes(`bytes ${offset}-${offset + length - 1}/${size}`, String(length))).toEqual({ offset, length, size });
      }),
    );
  });

  it.each([
    ['a part without its size', 'bytes 0-99/*', '100'],
    ['a part beyond the whole', 'bytes 0-100/100', '101'],
    ['a part that ends before it begins', 'bytes 9-8/100', '0'],
    ['another length than the part’s', 'bytes 0-99/100', '99'],
    ['no part, and a body', 'bytes */100', '100'],
    ['another unit', 'items 0-99/100', '100'],
    ['more digits than there are bytes', 'bytes 0-99/99999999999999999', '100'],
    ['nonsense', 'all of it', '100'],
    ['no length', 'bytes 0-99/100', undefined],
    ['an invalid length', undefined, '-1'],
    ['a body in chunks', undefined, undefined],
  ])('is refused with %s', (_, range, length) => {
    expect(() => parseCarriedBytes(range, length)).toThrow(expect.objectContaining({ kind: 'input', code: 'upload.range' }));
  });
});
