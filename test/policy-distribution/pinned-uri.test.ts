import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { addPinned, parsePinnedUri } from '../../src/policy-distribution/store/pinned-uri.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const HEX = 'ab'.repeat(32);
const signal = new AbortController().signal;

describe('a URI with a digest', () => {
  it('consists of the URI and a digest', () => {
    expect(parsePinnedUri(`gs://bucket/x#sha256=${HEX.toUpperCase()}`)).toEqual({ uri: 'gs://bucket/x', expected: `sha256:${HEX}` });
    expect(parsePinnedUri('/runs/a#1.onnx')).toEqual({ uri: '/runs/a#1.onnx', expected: undefined });
  });

  it.each(['', 'abc', `${HEX}0`])('and %j is no digest', (hex) => {
    expect(() => parsePinnedUri(`/x#sha256=${hex}`)).toThrow('expected 64 hexadecimal digits');
  });

  it('gives that content, or nothing', async () => {
    await using scratch = await ScratchDirectory.make();
    const limits = { maxBytes: 1000, maxFiles: 10 };
    const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: new ManualClock() });
    const uri = await scratch.put('policy.bin', 'weights');
    const expected = digestBytes('weights');
    await expect(addPinned(store, filesystemSource, { uri, expected }, signal)).resolves.toMatchObject({ digest: expected });
    await scratch.put('policy.bin', 'others');
    await expect(addPinned(store, filesystemSource, { uri, expected }, signal)).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.digest',
      message: expect.stringContaining(uri),
    });
  });
});
