import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import type { CheckpointSource } from '../../src/policy-distribution/checkpoint-source.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const INDEX = 'model.safetensors.index.json';
const SHARDS = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
const WHOLE = JSON.stringify({ metadata: { total_size: 0 }, weight_map: { a: SHARDS[0], b: SHARDS[1], c: SHARDS[1] } });
/** A safetensors file without tensors. */
const EMPTY = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')]);

/** A directory as Hugging Face lays it out, with such an index and such shards. */
async function added(scratch: ScratchDirectory, index: string, shards: readonly string[], below = ''): Promise<StoredCheckpoint> {
  const directory = join(scratch.path, 'checkpoint', below);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, INDEX), index);
  await writeFile(join(directory, 'config.json'), '{}');
  for (const shard of shards) await writeFile(join(directory, shard), EMPTY);
  const limits = { maxBytes: 10_000, maxFiles: 10 };
  const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: new ManualClock() });
  return store.add(filesystemSource, join(scratch.path, 'checkpoint'), new AbortController().signal);
}

describe('a checkpoint in several files', () => {
  it.each(['', 'deeper'])('is one when all that its index names is there %s', async (below) => {
    await using scratch = await ScratchDirectory.make();
    expect((await added(scratch, WHOLE, SHARDS, below)).files).toHaveLength(4);
  });

  it('is refused while a shard is missing: the error names the index and the shard, and nothing is stored', async () => {
    await using scratch = await ScratchDirectory.make();
    await expect(added(scratch, WHOLE, SHARDS.slice(0, 1))).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.shards',
      message: expect.stringMatching(/model\.safetensors\.index\.json: its files "model-00002-of-00002\.safetensors" are not there/),
    });
    expect(await readdir(join(scratch.path, 'store/checkpoints'))).toEqual([]);
  });

  it('is refused when a shard is gone since it was sent', async () => {
    await using scratch = await ScratchDirectory.make();
    const files = new Map([...SHARDS.map((name) => [name, EMPTY] as const), [INDEX, Buffer.from(WHOLE)] as const]);
    const source: CheckpointSource = {
      list: async () => ({
        kind: 'directory',
        files: [...files].map(([path, { length }]) => ({ path, size: length, address: `/run/${path}`, revision: 'one', isSettled: true })),
      }),
      async *read({ path }) {
        yield files.get(path) ?? EMPTY;
      },
    };
    const limits = { maxBytes: 10_000, maxFiles: 10 };
    const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock: new ManualClock() });
    const { signal } = new AbortController();
    await store.add(source, '/run', signal);
    files.delete(SHARDS[1] ?? '');
    await expect(store.add(source, '/run', signal)).rejects.toMatchObject({ code: 'checkpoint.shards' });
  });

  it.each([
    ['no JSON', '{', 'it is not valid JSON'],
    ['no map', '{}', 'it has no "weight_map"'],
    ['a list for a map', '{"weight_map": []}', 'it has no "weight_map"'],
    ['a shard that is no name', '{"weight_map": {"a": 1}}', '"weight_map" holds 1'],
    ['a shard outside of the directory', '{"weight_map": {"a": "../config.json"}}', 'its files "../config.json" are not there'],
  ])('with %s as its index is refused', async (_, index, message) => {
    await using scratch = await ScratchDirectory.make();
    await expect(added(scratch, index, SHARDS)).rejects.toMatchObject({
      code: 'checkpoint.shards',
      message: expect.stringContaining(message),
    });
  });
});
