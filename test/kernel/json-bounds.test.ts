import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan, parseJson, tryParseJson, type JsonBounds } from '../../src/kernel/json-bounds.ts';

const GENEROUS: JsonBounds = { bytes: 2 ** 30, depth: 2 ** 30, values: 2 ** 30 };

/** What a parser comes to: how many values, and how deep. */
function extentOf(value: unknown): { readonly values: number; readonly depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(extentOf);
  return {
    values: inner.reduce((sum, { values }) => sum + values, 1),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

/** However the pieces are cut. */
function isWithin(text: string, bounds: JsonBounds, pieceBytes: number): boolean {
  const bytes = Buffer.from(text);
  const scan = new JsonScan(bounds);
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) scan.push(bytes.subarray(at, at + pieceBytes));
    return true;
  } catch {
    return false;
  }
}

describe('the bounds of a JSON text', () => {
  it('bound what a parser would create, and refuse no text far within them', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 1, max: 9 }), fc.boolean(), (value, pieceBytes, isSpaced) => {
        const text = JSON.stringify(value, null, isSpaced ? 1 : 0);
        const { values, depth } = extentOf(JSON.parse(text));
        expect(isWithin(text, { ...GENEROUS, depth: depth - 1 }, pieceBytes)).toBe(depth === 0);
        expect(isWithin(text, { ...GENEROUS, values: values - 1 }, pieceBytes)).toBe(false);
        // An empty list or object counts as if it held something.
        expect(isWithin(text, { bytes: Buffer.byteLength(text), depth, values: 2 * values }, pieceBytes)).toBe(true);
        expect(isWithin(text, { ...GENEROUS, bytes: Buffer.byteLength(text) - 1 }, pieceBytes)).toBe(false);
      }),
    );
  });

  it('are checked before anything is parsed', () => {
    const bounds = { bytes: 10_000, depth: 64, values: 1000 };
    const refused = (text: string): unknown => {
      try {
        return parseJson(Buffer.from(text), bounds);
      } catch (error) {
        return String(error);
      }
    };
    expect(refused('['.repeat(5000))).toContain('more than 64 nested lists and objects; expected at most 64');
    expect(refused(`[${'1,'.repeat(2000)}1]`)).toContain('more than 1000 values');
    expect(refused(`"${' '.repeat(10_000)}"`)).toContain('more than 10000 bytes');
    expect(refused(`{"a":"${'[{,\\"'.repeat(1000)}"}`)).toEqual({ a: '[{,"'.repeat(1000) });
    expect(refused('[1,')).toContain('not valid JSON');
    expect(refused('"\ud800"'.repeat(2))).toContain('not valid JSON');
  });
});

it('text that is no JSON is parsed to undefined', () => {
  expect(['{"a":[1]}', 'null', '', '{"a":', 'text'].map(tryParseJson)).toEqual([{ a: [1] }, null, undefined, undefined, undefined]);
});
