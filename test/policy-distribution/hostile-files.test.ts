import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { InputError } from '../../src/kernel/errors.ts';
import { BLOCK_BYTES } from '../../src/policy-distribution/delta/delta-block.ts';
import { MalformedDelta } from '../../src/policy-distribution/delta/delta-format.ts';
import { DeltaFile, readIndex } from '../../src/policy-distribution/store/delta-reader.ts';
import { UntrustedFiles } from '../../src/policy-distribution/inspection/untrusted-files.ts';
import { ServerMemory } from '../fuzz/hostile-requests.ts';
import { encoded, framed, inMemory } from './encoded-delta.ts';
import { doubled, field, mappingOf, safetensorsOf, torchOf, zipOf } from './hostile-files.ts';
import { safetensorsFile } from './safetensors-file.ts';

const MEBIBYTE = 2 ** 20;
/** The memory of a thread that reads a file within all bounds. A file that is refused takes less. */
const MOST_BYTES = 400 * MEBIBYTE;
const files = new UntrustedFiles(systemClock);

/** What the file holds, or why it is refused. Anything else that is thrown is a defect. */
async function inspect(path: string, bytes: Uint8Array): Promise<string> {
  const readAt = async (position: number, length: number): Promise<Uint8Array> => bytes.subarray(position, position + length);
  const order = { path, address: path, size: bytes.length };
  try {
    await files.read('check', { ...order, beside: new Set() }, readAt);
    return JSON.stringify(await files.read('contents', order, readAt));
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}

async function decodeDelta(delta: Uint8Array, base: Uint8Array): Promise<string> {
  try {
    let size = 0;
    for await (const piece of new DeltaFile(inMemory(delta), await readIndex(inMemory(delta), 'a delta'), inMemory(base)).readPieces())
      size += piece.length;
    return `${size} bytes`;
  } catch (error) {
    if (error instanceof MalformedDelta) return error.message;
    throw error;
  }
}

const sample = (name: string): Buffer => readFileSync(join(import.meta.dirname, 'samples', name));
const nested = Buffer.alloc(60e6, '{"a":[');
const keys = (count: number): string => Array.from({ length: count }, (_, at) => `"${at}":0`).join(',');
const entry = (key: string, value: string): Buffer => field(13, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]));
const tensorOf = (dims: Uint8Array): Buffer => field(7, field(5, field(1, dims)));
const SHAPE = 'ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\ntQK\x00';

describe('a file that is made to keep its reader busy is refused, and takes little memory', () => {
  it.each<[string, string, () => Buffer, string]>([
    ['a header of 60 MB of lists and objects', 'p.safetensors', () => safetensorsOf(nested), 'at most 33554432'],
    ['a header of 30 MB of them', 'p.safetensors', () => safetensorsOf(nested.subarray(0, 30e6)), 'more than 8 nested lists and objects'],
    ['a header of two million keys', 'p.safetensors', () => safetensorsOf(`{${keys(2e6)}}`), 'more than 1000000 values'],
    ['a header of one shape', 'p.safetensors', () => safetensorsOf(`{"w":{"dtype":"F32","shape":[${'1,'.repeat(9e5)}1]}}`), 'data_offsets'],
    ['an index of nested lists', 'p.safetensors.index.json', () => nested.subarray(0, 30e6), 'more than 64 nested lists and objects'],
    ['an index of two million keys', 'p.safetensors.index.json', () => Buffer.from(`{"weight_map":{${keys(2e6)}}}`), 'more than 1000000'],
    ['lists that double, in a pickle', 'p.pt', () => torchOf(doubled(60), '.'), 'comes to more than 2000000 values'],
    ['a name made of them', 'p.pt', () => torchOf(doubled(60), 'X\x01\x00\x00\x00a\x93.'), 'has no name'],
    ['a shape made of them', 'p.pt', () => torchOf(doubled(60), SHAPE, 'h\x3ctR.'), 'nothing is known'],
    ['a key made of them', 'p.pt', () => torchOf(doubled(60), '}h\x3cK\x01s.'), '"tensors":[]'],
    [
      'a mapping that is copied again and again, in a pickle',
      'p.pt',
      () => torchOf('c__torch__\nM\n)\x81', mappingOf(50_000), 'q\x00b', 'h\x00b'.repeat(50_000), '.'),
      'more than 4000000 steps',
    ],
    ['marks without an end, in a pickle', 'p.pt', () => torchOf('('.repeat(8e6)), 'more than 4000000 steps'],
    [
      'a name of a megabyte that stands in itself, in a pickle',
      'p.pt',
      () => torchOf(`}q\x00X\x00\x00\x10\x00${'a'.repeat(MEBIBYTE)}h\x00s.`),
      'more than 4096 characters',
    ],
    ['an archive that unpacks to a thousand times its size', 'p.pt', () => torchOf(Buffer.alloc(30 * MEBIBYTE)), 'opcode 0x0'],
    ['one that unpacks to more', 'p.pt', () => torchOf(Buffer.alloc(40 * MEBIBYTE)), 'at most 33554432'],
    [
      'one that claims more than it can unpack to',
      'p.pt',
      () => zipOf([['m/data.pkl', Buffer.alloc(9), 30e6]]),
      'what its method 8 can do',
    ],
    ['one that unpacks to more than it claims', 'p.pt', () => zipOf([['m/data.pkl', Buffer.alloc(9e6), 100]]), 'cannot be unpacked'],
    [
      'one of three hundred thousand entries',
      'p.pt',
      () =>
        zipOf(
          Array.from({ length: 300_000 }, (_, at) => [`${at}`, Buffer.alloc(0)]),
          false,
        ),
      'more than 200000 entries',
    ],
    ['a name of 60 KB in an archive', 'p.pt', () => zipOf([['n'.repeat(60_000), Buffer.alloc(0)]]), 'at most 4096'],
    [
      'a configuration of nested lists, of Keras',
      'p.keras',
      () =>
        zipOf([
          ['config.json', nested.subarray(0, 15e6)],
          ['model.weights.h5', Buffer.alloc(0)],
        ]),
      'more than 128 nested lists and objects',
    ],
    ['a tensor of many dimensions, of ONNX', 'p.onnx', () => tensorOf(Buffer.alloc(900_000, 1)), 'at most 64'],
    ['a tensor with more numbers than are read', 'p.onnx', () => tensorOf(Buffer.alloc(2e6, 1)), 'more numbers than any model'],
    ['metadata without an end, of ONNX', 'p.onnx', () => Buffer.alloc(40e6, field(14, field(1, Buffer.alloc(5e5, 'a')))), 'more text than'],
    [
      'a tensor whose numbers are in another file, of ONNX',
      'p.onnx',
      () =>
        Buffer.from(
          field(7, field(5, Buffer.concat([entry('location', 'weights.'.repeat(99)), entry('offset', '0'), entry('length', '32000')]))),
        ),
      '"bytes":32000',
    ],
    [
      'graphs in graphs, of ONNX',
      'p.onnx',
      () => Array.from({ length: 3000 }).reduce<Buffer>((inner) => field(7, inner), Buffer.alloc(0)),
      '"initializers":[]',
    ],
  ])('%s', async (_, path, make, expected) => {
    const bytes = make();
    const memory = new ServerMemory(process.pid);
    const before = await memory.reset();
    expect(await inspect(path, bytes)).toContain(expected);
    expect((await memory.peak()) - before).toBeLessThan(MOST_BYTES);
  });
});

describe('a delta that is made to keep its reader busy is refused, and takes little memory', () => {
  const base = Buffer.alloc(8 * MEBIBYTE);
  const index = (size: number, segments: readonly object[]): Uint8Array =>
    zstdCompressSync(
      JSON.stringify({
        format: 'muster-delta/1',
        file: { digest: digestBytes(''), size },
        base: { digest: digestBytes(''), size: base.length },
        segments,
      }),
    );
  const segment = (size: number, from: number | null, blocks: readonly (readonly [number, number])[]): object => ({
    name: 'w',
    size,
    wordBytes: 4,
    from,
    crc32: 0,
    blocks,
  });
  const bomb = zstdCompressSync(Buffer.alloc(200 * MEBIBYTE));

  it.each<[string, () => Buffer, string]>([
    ['an index that unpacks to 200 MB', () => framed(bomb), 'cannot be decompressed'],
    ['an index of nested lists', () => framed(zstdCompressSync(nested.subarray(0, 15e6))), 'more than 8 nested lists and objects'],
    [
      'an index of a million blocks',
      () =>
        framed(
          index(4, [
            segment(
              4,
              0,
              Array.from({ length: 1e6 }, () => [0, 0] as const),
            ),
          ]),
        ),
      'more than 2500000 values',
    ],
    [
      'a block that unpacks to 200 MB',
      () => framed(index(MEBIBYTE, [segment(MEBIBYTE, null, [[4, bomb.length]])]), bomb),
      'cannot be decompressed',
    ],
    [
      'changes that unpack to 200 MB',
      () => framed(index(MEBIBYTE, [segment(MEBIBYTE, 0, [[1, bomb.length]])]), bomb),
      'cannot be decompressed',
    ],
    [
      'copies that overlap, of more than is declared',
      () => framed(index(8 * MEBIBYTE, [segment(5 * MEBIBYTE, 0, blocksOf(5)), segment(5 * MEBIBYTE, 1, blocksOf(5))])),
      'its segments have',
    ],
    [
      'a copy beyond the base',
      () => framed(index(5 * MEBIBYTE, [segment(5 * MEBIBYTE, 4 * MEBIBYTE, blocksOf(5))])),
      'beyond the end of the base',
    ],
    ['a copy that is not what it says', () => framed(index(5 * MEBIBYTE, [segment(5 * MEBIBYTE, 1, blocksOf(5))])), 'wrong checksum'],
  ])('%s', async (_, make, expected) => {
    const bytes = make();
    const memory = new ServerMemory(process.pid);
    const before = await memory.reset();
    expect(await decodeDelta(bytes, base)).toContain(expected);
    expect((await memory.peak()) - before).toBeLessThan(MOST_BYTES);
  });

  function blocksOf(count: number): readonly (readonly [number, number])[] {
    expect(BLOCK_BYTES).toBe(MEBIBYTE);
    return Array.from({ length: count }, () => [0, 0] as const);
  }
});

describe('a file with random changes', () => {
  const changes = fc.array(
    fc.record({
      at: fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      to: fc.uint8Array({ minLength: 1, maxLength: 8 }),
      isInserted: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  );
  type Changes = readonly { readonly at: number; readonly to: Uint8Array; readonly isInserted: boolean }[];
  const changed = (bytes: Buffer, all: Changes): Buffer =>
    all.reduce((present, { at, to, isInserted }) => {
      const begin = Math.floor(at * present.length);
      return Buffer.concat([present.subarray(0, begin), to, present.subarray(begin + (isInserted ? 0 : to.length))]);
    }, bytes);
  const header = safetensorsFile({ w: new Float32Array(4), b: new Uint16Array(3) }, { muster: '{"format":"muster-mlp/1"}' });
  const shards = Buffer.from(
    JSON.stringify({ metadata: { total_size: 4 }, weight_map: { w: 'model-1.safetensors', b: 'model-2.safetensors' } }),
  );

  it.each([
    ['policy.safetensors', header],
    ['policy.safetensors.index.json', shards],
    ['policy.onnx', sample('policy.onnx')],
    ['policy.keras', sample('policy.keras')],
    ['module.pt', sample('module.pt')],
    ['state.pth', sample('state.pth')],
  ])('is described or refused, without another error: %s', async (path, bytes) => {
    const anything = fc.asyncProperty(changes, async (all) => (await inspect(path, changed(bytes, all))).length > 0);
    expect(await fc.check(anything, { numRuns: 500 })).toMatchObject({ failed: false });
  });

  it('is decoded or refused where it is a delta', async () => {
    const delta = await encoded('p.bin', Buffer.alloc(3000, 'abc'), Buffer.alloc(3000, 'abd'));
    const anything = fc.asyncProperty(
      changes,
      async (all) => (await decodeDelta(changed(delta, all), Buffer.alloc(3000, 'abd'))).length > 0,
    );
    expect(await fc.check(anything, { numRuns: 500 })).toMatchObject({ failed: false });
  });
});
