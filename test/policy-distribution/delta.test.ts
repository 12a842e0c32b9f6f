import { createHash } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { BLOCK_BYTES } from '../../src/policy-distribution/delta/delta-block.ts';
import { MalformedDelta } from '../../src/policy-distribution/delta/delta-format.ts';
import { DeltaFile, readIndex } from '../../src/policy-distribution/store/delta-reader.ts';
import { deltaOf, encoded, framed, inMemory } from './encoded-delta.ts';
import { safetensorsFile, scatter, trained, weights } from './safetensors-file.ts';

const FORMATS = ['p.safetensors', 'p.onnx'];

describe('a file that is encoded against another one', () => {
  it('is the same to the byte, whatever has changed, and whichever stretch of it is read', async () => {
    const tensor = fc.record({ bf16: fc.boolean(), length: fc.nat(70_000), share: fc.constantFrom(0, 0.001, 0.01, 0.3, 0.7, 1) });
    await fc.assert(
      fc.asyncProperty(fc.array(tensor, { maxLength: 5 }), fc.constantFrom(...FORMATS), fc.nat(), async (tensors, name, seed) => {
        const before = tensors.map(({ length }, i) => weights(2 * length, seed + i));
        const after = before.map((values, i) => trained(values, tensors[i]?.share ?? 0, seed + i));
        const of = (values: readonly Uint16Array[]): Buffer =>
          safetensorsFile(
            Object.fromEntries(values.map((each, i) => [`t${i}`, tensors[i]?.bf16 === true ? each : new Float32Array(each.buffer)])),
          );
        const [base, file] = [of(before), of(after)];
        const delta = await encoded(name, file, base);
        const read = await decoded(delta, base);
        expect(await wholeOf(read)).toBe(readHash(file));
        const next = scatter(seed);
        for (let i = 0; i < 5; i += 1) {
          const at = Math.floor(next() * file.length);
          const stretch = new Uint8Array(Math.floor(next() * (file.length - at)));
          await read.readInto(stretch, at);
          expect(Buffer.compare(stretch, file.subarray(at, at + stretch.length))).toBe(0);
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each([0, 1, 2, 3, 5, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 3])('may have any length: %d bytes', async (size) => {
    const base = Buffer.from(weights(size, 1).buffer, 0, size);
    for (const at of [0, size >> 1, size - 1]) {
      const file = Buffer.from(base);
      if (size > 0) file[at] = (file[at] ?? 0) ^ 0x80;
      expect(await wholeOf(await decoded(await encoded('p.bin', file, base), base))).toBe(readHash(file));
    }
  });

  it('can have tensors that its base lacks, or has elsewhere or in another shape', async () => {
    const [a, b, c] = [weights(1000, 1), weights(3000, 2), weights(5000, 3)];
    const base = safetensorsFile({ a, b });
    const file = safetensorsFile({ c, b: trained(b, 0.01, 4), a: weights(1001, 5) }, { step: '2' });
    const delta = await encoded('p.safetensors', file, base);
    expect(await wholeOf(await decoded(delta, base))).toBe(readHash(file));
  });

  it('has the size of its changes: scattered values, or whole tensors', async () => {
    const before = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`layer.${i}`, weights(20_000, i)]));
    const base = safetensorsFile(before);
    const changed = (share: number): Buffer =>
      safetensorsFile(Object.fromEntries(Object.entries(before).map(([name, values], i) => [name, trained(values, share, i)])));
    expect((await encoded('p.safetensors', changed(0.01), base)).length).toBeLessThan(0.04 * base.length);
    expect((await encoded('p.safetensors', changed(0.001), base)).length).toBeLessThan(0.006 * base.length);
    const adapted = safetensorsFile({ ...before, 'layer.3': weights(20_000, 103), 'layer.7': weights(20_000, 107) });
    expect((await encoded('p.safetensors', adapted, base)).length).toBeLessThan(2 * 40_000 * 1.01 + 2000);
  });

  it('is refused when it exceeds its bound', async () => {
    const [base, file] = [safetensorsFile({ w: weights(50_000, 1) }), safetensorsFile({ w: weights(50_000, 2) })];
    await expect(encoded('p.safetensors', file, base, 0.9 * file.length)).rejects.toThrow('longer');
  });
});

describe('a damaged delta', () => {
  const before = weights(30_000, 1);
  const base = safetensorsFile({ a: before, b: weights(40_000, 2) });
  const file = safetensorsFile({ a: trained(before, 0.02, 3), b: weights(40_000, 4) });

  it('with any bit flipped gives the file or none, and so does a part of it', async () => {
    const delta = await encoded('p.safetensors', file, base);
    const harmed = fc.oneof(
      fc.nat(delta.length - 1).chain((at) => fc.nat(7).map((bit) => flipped(delta, at, bit))),
      // Where the index is, most can go wrong.
      fc.nat(400).chain((back) => fc.nat(7).map((bit) => flipped(delta, delta.length - 1 - back, bit))),
      fc.nat(delta.length - 1).map((length) => delta.subarray(0, length)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(harmed, async (bytes) => {
        const found = await decoded(bytes, base)
          .then(wholeOf)
          .catch((error: unknown) => error);
        expect(found === readHash(file) || found instanceof MalformedDelta).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('and of which the base has a bit flipped names the tensor', async () => {
    const delta = await encoded('p.safetensors', file, base);
    const read = await decoded(delta, flipped(base, base.length - 100_000, 3));
    await expect(wholeOf(read)).rejects.toThrow(/"tensor a" has a wrong checksum/);
  });

  it('or on a base of another length is refused', async () => {
    await expect(decoded(await encoded('p.safetensors', file, base), base.subarray(1))).rejects.toThrow(MalformedDelta);
  });
});

describe('an index that lies', () => {
  const digest = digestBytes('');
  const honest = {
    format: 'muster-delta/1',
    file: { digest, size: 8 },
    base: { digest, size: 8 },
    segments: [{ name: 'w', size: 8, wordBytes: 4, from: 0, crc32: 0, blocks: [[0, 0]] }],
  };
  const [segment] = honest.segments;

  it.each([
    ['of a longer file', { file: { digest, size: 9 } }, /segments have 8 bytes/],
    ['of fewer blocks', { segments: [{ ...segment, blocks: [] }] }, /0 blocks/],
    [
      'of more blocks',
      {
        segments: [
          {
            ...segment,
            blocks: [
              [0, 0],
              [0, 0],
            ],
          },
        ],
      },
      /2 blocks/,
    ],
    ['of bytes that are not there', { segments: [{ ...segment, blocks: [[3, 8]] }] }, /8 bytes of blocks, there are 0/],
    ['of a base that is longer', { segments: [{ ...segment, from: 1 }] }, /beyond the end of the base/],
    ['of a base that is not named', { segments: [{ ...segment, from: null }] }, /a base that the delta does not have/],
    ['of half words', { file: { digest, size: 6 }, segments: [{ ...segment, size: 6 }] }, /not whole words/],
    ['of a kind of block that there is not', { segments: [{ ...segment, blocks: [[5, 0]] }] }, /makes no sense/],
    ['of a negative size', { segments: [{ ...segment, size: -8 }] }, /makes no sense/],
    ['of another format', { format: 'muster-delta/2' }, /makes no sense/],
    ['with unknown fields', { more: 1 }, /makes no sense/],
  ])('%s is refused', async (_, lie, message) => {
    await expect(readIndex(inMemory(deltaOf({ ...honest, ...lie })), 'a delta')).rejects.toThrow(message);
    expect(await readIndex(inMemory(deltaOf(honest)), 'a delta')).toEqual(honest);
  });

  it('unpacked is never larger than an index may be', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(200 * 2 ** 20));
    await expect(readIndex(inMemory(framed(bomb)), 'a delta')).rejects.toThrow(MalformedDelta);
  });
});

async function decoded(delta: Uint8Array, base: Uint8Array): Promise<DeltaFile> {
  return new DeltaFile(inMemory(delta), await readIndex(inMemory(delta), 'a delta'), inMemory(base));
}

async function wholeOf(read: DeltaFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of read.readPieces()) hash.update(piece);
  return hash.digest('hex');
}

function readHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function flipped(whole: Uint8Array, at: number, bit: number): Buffer {
  const copy = Buffer.from(whole);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}
