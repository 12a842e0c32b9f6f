import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isTooNested, MOST_NESTED } from '../../src/server/nesting.ts';

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 'innermost';
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

describe('what is nested', () => {
  it.each([
    ['lists', (inner: unknown) => [inner]],
    ['mappings', (inner: unknown) => ({ inner })],
    ['one among many', (inner: unknown) => [null, 1, {}, inner, []]],
  ])('in %s is taken up to the most levels, and not beyond', (_what, wrap) => {
    expect(isTooNested(nested(MOST_NESTED - 1, wrap))).toBe(false);
    expect(isTooNested(nested(MOST_NESTED + 1, wrap))).toBe(true);
  });

  it('is counted exactly', () => {
    const wrap = (inner: unknown) => [inner];
    expect([MOST_NESTED, MOST_NESTED + 1].map((levels) => isTooNested(nested(levels, wrap)))).toEqual([false, true]);
  });

  it('does not lead into what was never JSON, and may lead to itself', () => {
    const stream = Object.assign(new Readable(), { own: {} });
    stream.own = { stream };
    expect(isTooNested(stream)).toBe(false);
  });
});
