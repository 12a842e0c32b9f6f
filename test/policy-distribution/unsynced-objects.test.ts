import { createHash } from 'node:crypto';
import { open, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { CheckpointStore } from '../../src/policy-distribution/checkpoint-store.ts';
import { IncomingNames } from '../../src/policy-distribution/incoming-names.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const { signal } = new AbortController();
/** As large as is worth a note. */
const WEIGHTS = Buffer.alloc(17 * 2 ** 20, 'weights');
const HEX = createHash('sha256').update(WEIGHTS).digest('hex');

afterEach(() => vi.restoreAllMocks());

function opened({ path }: ScratchDirectory): Promise<CheckpointStore> {
  const limits = { maxBytes: 2 ** 30, maxFiles: 10 };
  return CheckpointStore.open({ directory: join(path, 'store'), limits, clock: systemClock, syncing: 'behind' });
}

function listed({ path }: ScratchDirectory, kind: 'objects' | 'unsynced'): Promise<string[]> {
  return readdir(join(path, 'store', kind));
}

/** The calls that put something on the disk, of whatever file. */
async function syncs({ path }: ScratchDirectory): Promise<MockInstance<() => Promise<void>>> {
  await using handle = await open(path);
  const prototype: typeof handle = Object.getPrototypeOf(handle);
  return vi.spyOn(prototype, 'sync');
}

/** A store in which somebody who is gone by now has left the object with its note. */
async function left(scratch: ScratchDirectory, by: 'here' | 'elsewhere'): Promise<void> {
  const store = await opened(scratch);
  await store.add(filesystemSource, await scratch.put('policy.bin', WEIGHTS), signal);
  await store.settled();
  const [place = ''] = (await IncomingNames.forThisProcess(systemClock)).next().split('.');
  const writer = by === 'here' ? `${place}.999999999.1.x` : `${'0'.repeat(16)}.${process.pid}.1.x`;
  await writeFile(join(scratch.path, 'store/unsynced', `${writer}.${HEX}`), '');
}

describe('a large checkpoint that is synced behind its users’ backs', () => {
  it('is there as soon as its digest is known, with a note until it is on the disk', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await opened(scratch);
    const { promise: disk, resolve } = Promise.withResolvers<void>();
    const path = await scratch.put('policy.bin', WEIGHTS);
    // The first puts the note on the disk.
    (await syncs(scratch)).mockResolvedValueOnce().mockReturnValueOnce(disk);
    const { files } = await store.add(filesystemSource, path, signal);
    expect((await readFile(files[0]?.hostPath ?? '')).equals(WEIGHTS)).toBe(true);
    expect(await listed(scratch, 'unsynced')).toEqual([expect.stringContaining(HEX)]);
    resolve();
    await store.settled();
    expect([await listed(scratch, 'unsynced'), await listed(scratch, 'objects')]).toEqual([[], [HEX]]);
  });

  it('has no name while its note is not on the disk', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await opened(scratch);
    const path = await scratch.put('policy.bin', WEIGHTS);
    (await syncs(scratch)).mockRejectedValueOnce(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    await expect(store.add(filesystemSource, path, signal)).rejects.toMatchObject({ code: 'store.full' });
    expect(await listed(scratch, 'objects')).toEqual([]);
  });

  it('is taken out when it cannot be put on the disk, which is said when all has settled', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await opened(scratch);
    const path = await scratch.put('policy.bin', WEIGHTS);
    const { promise: disk, reject } = Promise.withResolvers<void>();
    (await syncs(scratch)).mockResolvedValueOnce().mockReturnValueOnce(disk);
    const { digest } = await store.add(filesystemSource, path, signal);
    reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    await expect(store.settled()).rejects.toMatchObject({ code: 'store.full' });
    expect(await store.find(digest)).toBeUndefined();
  });

  it.each(['here', 'elsewhere'] as const)('and that a power cut %s has spoilt is taken out, and brought anew', async (by) => {
    await using scratch = await ScratchDirectory.make();
    await left(scratch, by);
    const object = join(scratch.path, 'store/objects', HEX);
    await truncate(object, 4096);
    await truncate(object, WEIGHTS.length);
    const store = await opened(scratch);
    expect([await listed(scratch, 'unsynced'), await listed(scratch, 'objects')]).toEqual([[], []]);
    const { files } = await store.add(filesystemSource, join(scratch.path, 'policy.bin'), signal);
    expect((await readFile(files[0]?.hostPath ?? '')).equals(WEIGHTS)).toBe(true);
    await store.settled();
  });

  it('is kept when it is whole although its writer is gone, and left alone while that lives', async () => {
    await using scratch = await ScratchDirectory.make();
    await left(scratch, 'here');
    const note = `${(await IncomingNames.forThisProcess(systemClock)).next()}.${HEX}`;
    await writeFile(join(scratch.path, 'store/unsynced', note), '');
    await opened(scratch);
    expect([await listed(scratch, 'unsynced'), await listed(scratch, 'objects')]).toEqual([[note], [HEX]]);
  });
});
