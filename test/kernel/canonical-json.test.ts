import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatCanonicalJson } from '../../src/kernel/canonical-json.ts';

/** The definition, one member at a time. */
function sortMembers(_key: string, member: unknown): unknown {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
  return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
}

it('canonical JSON is JSON whose keys are sorted at every depth, whatever the values', () => {
  const values = fc.anything({ withDate: true, withSparseArray: true, withTypedArray: true, withNullPrototype: true });
  fc.assert(
    fc.property(values, (value) => {
      expect(formatCanonicalJson(value)).toBe(JSON.stringify(value, sortMembers));
    }),
  );
  expect(formatCanonicalJson({ b: [{ d: 1, c: undefined }], a: new Date(0) })).toBe('{"a":"1970-01-01T00:00:00.000Z","b":[{"d":1}]}');
});
