import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inspectWritten } from '../../src/app/checkpoints/checkpoint-inspection.ts';
import { formatInspection } from '../../src/cli/lines/inspection-lines.ts';
import { loadConfig } from '../../src/app/configuration.ts';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import type { CheckpointInspection } from '../../src/policy-distribution/inspection/checkpoint-inspection.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { WebServer } from '../support/web-server.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/game/checkpoints');
const LATE = join(EXAMPLES, 'late.safetensors');
const signal = new AbortController().signal;
const SAMPLES = join(import.meta.dirname, '../policy-distribution/samples');
const limits = { maxBytes: 100_000_000, maxFiles: 10, keptBytes: 'unlimited', unfinishedHours: 1 } as const;
const { sources } = loadConfig({ environment: { HOME: '/' } });
const inspected = (checkpoint: string, wantsDigest = false): Promise<CheckpointInspection> =>
  inspectWritten(checkpoint, { checkpoints: limits, sources }, wantsDigest, signal);

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());

/** A header as it stands in a file, and so many bytes after it. */
function safetensors(header: object, bytes: number): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, Buffer.alloc(bytes)]);
}

describe('what a checkpoint holds', () => {
  it('is its digest, and of each tensor name, type, shape and size', async () => {
    const lines = formatInspection(await inspected(LATE));
    expect(lines).toContain('sha256:99e868465026b26429287e2b70f5120ac9c3b2ad30b1edd516449f66a8ef47ad');
    expect(lines).toContain('  safetensors: 8 tensors, 18,472 bytes');
    expect(lines).toContain('  l1.weight             F32  [64, 64]  16,384');
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}metadata muster: \{"format":"muster-mlp\/1"/));
  });

  it('has the digest that the store gives it, a directory too', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: new ManualClock() });
    for (const path of [LATE, EXAMPLES])
      expect((await inspected(path)).digest).toBe((await store.add(filesystemSource, path, signal)).digest);
  });

  it('for a Keras model, is its layers and their inputs, without Keras', async () => {
    const lines = formatInspection(await inspected(join(SAMPLES, 'policy.keras')));
    expect(lines).toEqual(
      expect.arrayContaining([
        '  keras: Sequential, 3 layers, read from its configuration, which was not built',
        '  input_layer  InputLayer  [any, 4]',
        '  dense        Dense       [any, 4]',
        '  dense_1      Dense       [any, 8]',
        '  model.weights.h5  12,696',
      ]),
    );
  });

  it('of a file of another kind says that the file is no checkpoint', async () => {
    const [remark, ...rest] = formatInspection(await inspected(join(import.meta.dirname, '../../package.json'))).toReversed();
    expect(remark).toMatch(/^no checkpoint that Muster plays: expected a file that ends in \.safetensors, .*\.zip, or a directory$/);
    expect(rest.length).toBeGreaterThan(0);
  });

  it('cannot control the terminal that shows it', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = join(scratch.path, 'p.safetensors');
    const tensors = { '\u001b[2J': { dtype: 'F32', shape: [1], data_offsets: [0, 4] } };
    await writeFile(path, safetensors({ __metadata__: { title: `\u001b]0;x\u0007${'y'.repeat(1000)}` }, ...tensors }, 4));
    const text = formatInspection(await inspected(path)).join('\n');
    expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
    expect(text).toContain('\\u001b[2J');
    expect(text.length).toBeLessThan(1000);
  });

  it('for an ONNX model, is its inputs, outputs and tensors', async () => {
    expect(formatInspection(await inspected(join(SAMPLES, 'policy.onnx'))).slice(3)).toEqual([
      expect.stringMatching(/^policy\.onnx · 240 bytes · sha256:/),
      '  onnx: 2 tensors, 40 bytes',
      '  input observation: F32 [batch, 4]',
      '  output logits: F32 [batch, 2]',
      '  metadata muster: {"action":{"kind":"discrete"}}',
      '  w  F32  [4, 2]  32',
      '  b  F32  [2]      8',
    ]);
  });

  it('for a state dict, is the tensors that its pickle describes', async () => {
    expect(formatInspection(await inspected(join(SAMPLES, 'state.pth'))).slice(4)).toEqual([
      '  torch.save: 4 tensors, read from its pickle, which was not run',
      '  state_dict.weight  F32   [2, 3]',
      '  state_dict.bias    F32      [2]',
      '  state_dict.half    BF16  [2, 3]',
      '  opt.0              F32      [4]',
    ]);
    expect(formatInspection(await inspected(join(SAMPLES, 'plain.pth'))).slice(5)).toEqual([
      '  weight  F32  [2, 3]',
      '  bias    F32     [2]',
    ]);
  });

  it('is inspected over the web in a few ranges, and read whole only for its digest', async () => {
    await using server = await WebServer.start();
    const size = 4 * 2 ** 20;
    const file = safetensors({ w: { dtype: 'F32', shape: [size / 4], data_offsets: [0, size] } }, size);
    // The end of it never comes.
    server.handle('p.safetensors', ({ headers: { range = 'bytes=0-' } }, response) => {
      const from = Number(/\d+/.exec(range)?.[0]);
      const to = range.endsWith('-') ? file.length - 1 : from;
      response.writeHead(206, { etag: '"one"', 'content-length': to + 1 - from, 'content-range': `bytes ${from}-${to}/${file.length}` });
      response.write(file.subarray(from, Math.min(to, from + 4096) + 1));
    });
    server.put('policy.onnx', await readFile(join(SAMPLES, 'policy.onnx')));
    const found = await inspected(server.url('p.safetensors'));
    expect(formatInspection(found)).toContain('  safetensors: 1 tensors, 4,194,304 bytes');
    expect(found.digest).toBeUndefined();
    expect(server.asked.length).toBeLessThan(5);
    expect((await inspected(server.url('policy.onnx'))).files[0]?.contents).toMatchObject({ format: 'onnx', initializers: { length: 2 } });
    expect((await inspected(server.url('policy.onnx'), true)).digest).toBe((await inspected(join(SAMPLES, 'policy.onnx'))).digest);
  });

  it.each([
    ['no message', Buffer.from([0xff, 0xff])],
    ['a field that is longer than the file', Buffer.from([0x3a, 0xff, 0xff, 0x7f])],
    ['a number without an end', Buffer.alloc(12, 0x80)],
    ['no graph', Buffer.from([0x08, 0x09])],
    ['a graph with a tensor that is longer than it', Buffer.from([0x3a, 0x02, 0x2a, 0x40])],
  ])('is refused by name where an ONNX file has %s', async (_, bytes) => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('p.onnx', bytes);
    await expect(inspected(path)).rejects.toMatchObject({ code: 'checkpoint.onnx', message: expect.stringContaining(path) });
  });

  it('is refused by the position of a bad header', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = join(scratch.path, 'p.safetensors');
    await writeFile(path, safetensors({ w: { dtype: 'F32', shape: [1000], data_offsets: [0, 4000] } }, 4));
    await expect(inspected(path)).rejects.toMatchObject({ code: 'checkpoint.safetensors', message: expect.stringContaining(path) });
  });
});
