import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectionOf } from '../../src/checkpoint-inspection.ts';
import { inspectionLines } from '../../src/cli/inspection-lines.ts';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { CheckpointStore } from '../../src/policy-distribution/checkpoint-store.ts';
import type { CheckpointInspection } from '../../src/policy-distribution/checkpoint-inspection.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { ManualClock } from '../support/manual-clock.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/game/checkpoints');
const LATE = join(EXAMPLES, 'late.safetensors');
const signal = new AbortController().signal;
const limits = { maxBytes: 10_000_000, maxFiles: 10, keptBytes: 'unlimited', unfinishedHours: 1 } as const;
const inspected = (path: string): Promise<CheckpointInspection> => inspectionOf(path, { checkpoints: limits }, signal);

/** A header as it stands in a file, and so many bytes after it. */
function safetensors(header: object, bytes: number): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, Buffer.alloc(bytes)]);
}

describe('what a checkpoint holds', () => {
  it('is its digest, and of each tensor name, type, shape and size', async () => {
    const lines = inspectionLines(await inspected(LATE));
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

  it('cannot write to the terminal that it is shown on', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = join(scratch.path, 'p.safetensors');
    const tensors = { '\u001b[2J': { dtype: 'F32', shape: [1], data_offsets: [0, 4] } };
    await writeFile(path, safetensors({ __metadata__: { title: `\u001b]0;x\u0007${'y'.repeat(1000)}` }, ...tensors }, 4));
    const text = inspectionLines(await inspected(path)).join('\n');
    expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
    expect(text).toContain('\\u001b[2J');
    expect(text.length).toBeLessThan(1000);
  });

  it('is refused by name where its header lies', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = join(scratch.path, 'p.safetensors');
    await writeFile(path, safetensors({ w: { dtype: 'F32', shape: [1000], data_offsets: [0, 4000] } }, 4));
    await expect(inspected(path)).rejects.toMatchObject({ code: 'checkpoint.safetensors', message: expect.stringContaining(path) });
  });
});
