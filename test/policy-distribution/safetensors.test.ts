import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEADER_BOUNDS, readSafetensorsHeader, type SafetensorsHeader } from '../../src/policy-distribution/formats/safetensors.ts';
import { DTYPES, getElementBits } from '../../src/policy-distribution/formats/safetensors-dtype.ts';

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: number[];
}

const tensorClaims = fc
  .record({
    name: fc.string({ maxLength: 12 }).filter((name) => name !== '__metadata__'),
    dtype: fc.constantFrom(...DTYPES),
    shape: fc.array(fc.nat(5), { maxLength: 4 }),
  })
  .filter(({ dtype, shape }) => bitsOf(dtype, shape) % 8 === 0);

const validHeaders = fc.uniqueArray(tensorClaims, { selector: ({ name }) => name, maxLength: 6 }).map((claims) => {
  const entries = new Map<string, Entry>();
  let end = 0;
  for (const { name, dtype, shape } of claims) {
    const begin = end;
    end += bitsOf(dtype, shape) / 8;
    entries.set(name, { dtype, shape, data_offsets: [begin, end] });
  }
  return { entries, dataBytes: end };
});

describe('the header of a safetensors file', () => {
  it('is accepted when its tensors fill the file exactly, in whatever order they are named', async () => {
    await fc.assert(
      fc.asyncProperty(validHeaders, fc.nat(16), async ({ entries, dataBytes }, padding) => {
        const reversed = [...entries].toReversed();
        const header = await parse(safetensors(jsonOf(reversed) + ' '.repeat(padding), dataBytes));
        expect(new Set(header.tensors.map(({ name }) => name))).toEqual(new Set(entries.keys()));
        for (const { name, dtype, shape, begin, end } of header.tensors) {
          expect({ dtype, shape, data_offsets: [begin, end] }).toEqual(entries.get(name));
        }
      }),
    );
  });

  it('is refused after any single change to an offset', async () => {
    await fc.assert(
      fc.asyncProperty(
        validHeaders.filter(({ entries }) => entries.size > 0),
        fc.nat(),
        fc.nat(1),
        fc.integer({ min: -9, max: 9 }).filter((change) => change !== 0),
        async ({ entries, dataBytes }, choice, side, change) => {
          const mutated = [...entries].map(([name, entry], index): [string, Entry] => {
            if (index !== choice % entries.size) return [name, entry];
            return [name, { ...entry, data_offsets: entry.data_offsets.map((offset, at) => (at === side ? offset + change : offset)) }];
          });
          await expect(parse(safetensors(jsonOf(mutated), dataBytes))).rejects.toMatchObject({ code: 'checkpoint.safetensors' });
        },
      ),
    );
  });

  it('is refused when the file is shorter or longer than its tensors, by one byte or by all of them', async () => {
    await fc.assert(
      fc.asyncProperty(
        validHeaders,
        fc.integer({ min: -40, max: 40 }).filter((change) => change !== 0),
        async ({ entries, dataBytes }, change) => {
          const whole = safetensors(jsonOf([...entries]), dataBytes);
          const bytes = change < 0 ? whole.subarray(0, Math.max(0, whole.length + change)) : Buffer.concat([whole, Buffer.alloc(change)]);
          await expect(parse(bytes)).rejects.toMatchObject({ code: 'checkpoint.safetensors' });
        },
      ),
    );
  });

  it('is parsed or refused for any bytes, without another error', async () => {
    const lengthAndBytes = fc.tuple(
      fc.nat(80),
      fc.oneof(
        fc.json().map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 80 }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(lengthAndBytes, async ([length, bytes]) => {
        const outcome = await parse(Buffer.concat([lengthPrefix(BigInt(length)), bytes])).then(
          () => 'checkpoint.safetensors',
          (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
        );
        expect(outcome).toBe('checkpoint.safetensors');
      }),
    );
  });

  it('gives the metadata and where the tensors begin', async () => {
    const text = '{"__metadata__":{"architecture":"mlp"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}';
    expect(await parse(safetensors(text, 8))).toEqual({
      metadata: { architecture: 'mlp' },
      tensors: [{ name: 'w', dtype: 'F32', shape: [2], begin: 0, end: 8 }],
      dataStart: 8 + text.length,
    });
  });

  it.each([
    ['an empty file', Buffer.alloc(0), 'has 0 bytes'],
    ['a file cut off within the length', Buffer.alloc(7), 'has 7 bytes'],
    ['a length beyond the bound', Buffer.concat([lengthPrefix(BigInt(HEADER_BOUNDS.bytes) + 1n), Buffer.alloc(9)]), 'at most 33554432'],
    ['a length near the limit of 64 bits', Buffer.concat([lengthPrefix(2n ** 64n - 1n), Buffer.alloc(9)]), '18446744073709551615'],
    ['a length beyond the end of the file', Buffer.concat([lengthPrefix(10n), Buffer.from('{}')]), 'looks truncated'],
    ['a header that is no JSON', safetensors('{"w":', 0), 'not valid JSON'],
    ['a header that is no UTF-8', Buffer.concat([lengthPrefix(4n), Buffer.from([0x7b, 0x22, 0xff, 0x22])]), 'not valid JSON'],
    ['a header that is a list', safetensors('[]', 0), 'beginning with "{"'],
    ['white space before the header', safetensors(' {}', 0), 'beginning with "{"'],
    ['a tensor that stands twice', safetensors(`{"w":${u8(0, 1)},"w":${u8(0, 1)}}`, 1), '"w" twice'],
    ['a tensor that stands twice, once with escapes', safetensors(`{"w":${u8(0, 1)},"\\u0077":${u8(0, 1)}}`, 1), '"w" twice'],
    [
      'a key of a tensor that stands twice',
      safetensors(w('{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}'), 1),
      '"dtype" twice',
    ],
    ['an unknown dtype', safetensors(w('{"dtype":"F33","shape":[1],"data_offsets":[0,1]}'), 1), '"F33"'],
    ['a dtype from the prototype', safetensors(w('{"dtype":"constructor","shape":[1],"data_offsets":[0,1]}'), 1), '"constructor"'],
    ['no dtype', safetensors(w('{"shape":[1],"data_offsets":[0,1]}'), 1), 'dtype nothing'],
    ['a negative dimension', safetensors(w('{"dtype":"U8","shape":[-1,-1],"data_offsets":[0,1]}'), 1), 'shape [-1,-1]'],
    ['a fractional dimension', safetensors(w('{"dtype":"U8","shape":[0.5,2],"data_offsets":[0,1]}'), 1), 'shape [0.5,2]'],
    [
      'a shape whose product overflows',
      safetensors(w(`{"dtype":"U8","shape":[${2 ** 32},${2 ** 32},0],"data_offsets":[0,0]}`), 0),
      'too large for any file',
    ],
    ['offsets that are three', safetensors(w('{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}'), 1), 'data_offsets [0,1,1]'],
    ['offsets that run backwards', safetensors(w('{"dtype":"U8","shape":[0],"data_offsets":[1,0]}'), 0), 'span -1 bytes'],
    [
      'a span that does not fit the shape',
      safetensors(w('{"dtype":"F32","shape":[3],"data_offsets":[0,8]}'), 8),
      'span 8 bytes; expected 12',
    ],
    ['half a byte', safetensors(w('{"dtype":"F4","shape":[3],"data_offsets":[0,2]}'), 2), 'ends within a byte'],
    ['overlapping tensors', safetensors(`{"a":${u8(0, 2)},"b":${u8(1, 3)}}`, 3), 'tensor "b": it begins at byte 1 and overlaps'],
    ['a gap between tensors', safetensors(`{"a":${u8(0, 2)},"b":${u8(3, 4)}}`, 4), 'tensor "b": it begins at byte 3 and leaves a gap'],
    ['a gap before the first tensor', safetensors(`{"a":${u8(1, 2)}}`, 2), 'leaves a gap'],
    ['bytes after the last tensor', safetensors(`{"a":${u8(0, 2)}}`, 3), '3 bytes follow the header; expected the 2'],
    ['a truncated last tensor', safetensors(`{"a":${u8(0, 2)}}`, 1), 'looks truncated'],
    ['metadata that is no object', safetensors('{"__metadata__":[]}', 0), '__metadata__ is []'],
    ['metadata that is no string', safetensors('{"__metadata__":{"hidden":64}}', 0), 'has 64 as "hidden"'],
    ['a tensor that is no object', safetensors('{"w":7}', 0), 'tensor "w": found 7'],
  ])('is refused for %s, with the file named', async (_, bytes, found) => {
    const parsed = parse(bytes);
    await expect(parsed).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.safetensors' });
    await expect(parsed).rejects.toThrow(found);
    await expect(parsed).rejects.toThrow('policy.safetensors');
  });

  it('may hold one string of many megabytes', async () => {
    const text = JSON.stringify({ __metadata__: { note: '\\"'.repeat(4_000_000) } });
    expect((await parse(safetensors(text, 0))).tensors).toEqual([]);
  });
});

function bitsOf(dtype: string, shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, getElementBits(dtype) ?? Number.NaN);
}

/** Written by hand: an object would put names such as "1" first. */
function jsonOf(entries: readonly (readonly [string, Entry])[]): string {
  return `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join(',')}}`;
}

function w(claim: string): string {
  return `{"w":${claim}}`;
}

function u8(begin: number, end: number): string {
  return JSON.stringify({ dtype: 'U8', shape: [end - begin], data_offsets: [begin, end] });
}

function lengthPrefix(length: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(length);
  return bytes;
}

function safetensors(header: string, dataBytes: number): Buffer {
  return Buffer.concat([lengthPrefix(BigInt(Buffer.byteLength(header))), Buffer.from(header), Buffer.alloc(dataBytes)]);
}

function parse(file: Uint8Array): Promise<SafetensorsHeader> {
  return readSafetensorsHeader('policy.safetensors', file.length, async (position, length) => file.subarray(position, position + length));
}
