import { createHash } from 'node:crypto';
import { open, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import type { Syncing } from '../../src/policy-distribution/store/content-store.ts';
import { IncomingNames } from '../../src/policy-distribution/files/incoming-names.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { eventually } from '../support/eventually.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const { signal } = new AbortController();
/** As large as is worth a note. */
const WEIGHTS = Buffer.alloc(17 * 2 ** 20, 'weights');
const HEX = createHash('sha256').update(WEIGHTS).digest('hex');

afterEach(() => vi.restoreAllMocks());

function opened({ path }: ScratchDirectory, syncing: Syncing = 'behind'): Promise<CheckpointStore> {
  const limits = { maxBytes: 2 ** 30, maxFiles: 10 };
  return CheckpointStore.open({ directory: join(path, 'store'), limits, clock: systemClock, syncing });
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

/** A store in which a process that is gone has left the object with its note. */
async function left(scratch: ScratchDirectory, by: 'here' | 'elsewhere'): Promise<void> {
  const store = await opened(scratch);
  await store.add(filesystemSource, await scratch.put('policy.bin', WEIGHTS), signal);
  await store.waitUntilSynced();
  const [place = ''] = (await IncomingNames.create(systemClock)).next().split('.');
  const writer = by === 'here' ? `${place}.999999999.1.x` : `${'0'.repeat(16)}.${process.pid}.1.x`;
  await writeFile(join(scratch.path, 'store/unsynced', `${writer}.${HEX}`), '');
}

describe('a large checkpoint that is synced in the background', () => {
  it('is available as soon as its digest is known, with a note until it is on the disk', async () => {
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
    await store.waitUntilSynced();
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

  it('is removed when it cannot be synced, which is reported at the end', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await opened(scratch);
    const path = await scratch.put('policy.bin', WEIGHTS);
    const { promise: disk, reject } = Promise.withResolvers<void>();
    (await syncs(scratch)).mockResolvedValueOnce().mockReturnValueOnce(disk);
    const { digest } = await store.add(filesystemSource, path, signal);
    reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    await expect(store.waitUntilSynced()).rejects.toMatchObject({ code: 'store.full' });
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
    await store.waitUntilSynced();
  });

  it('is kept when it is whole after its writer died, and left alone while the writer lives', async () => {
    await using scratch = await ScratchDirectory.make();
    await left(scratch, 'here');
    const note = `${(await IncomingNames.create(systemClock)).next()}.${HEX}`;
    await writeFile(join(scratch.path, 'store/unsynced', note), '');
    await opened(scratch);
    expect([await listed(scratch, 'unsynced'), await listed(scratch, 'objects')]).toEqual([[note], [HEX]]);
  });
});

describe('a server whose store has an unsynced checkpoint of a command', () => {
  const WAYS: readonly [string, (server: CheckpointStore, brought: StoredCheckpoint, path: string) => Promise<unknown>][] = [
    ['finds it', (server, { digest }) => server.find(digest)],
    ['restores it', (server, brought) => server.restore(brought)],
    ['brings it, too', (server, _brought, path) => server.add(filesystemSource, path, signal)],
  ];

  it.each(WAYS)('%s once it has synced the checkpoint itself', async (_way, ask) => {
    await using scratch = await ScratchDirectory.make();
    const [commandLine, server] = [await opened(scratch), await opened(scratch, 'before')];
    const path = await scratch.put('policy.bin', WEIGHTS);
    const { promise: disk, resolve } = Promise.withResolvers<void>();
    const synced = (await syncs(scratch)).mockResolvedValueOnce().mockReturnValueOnce(disk);
    const brought = await commandLine.add(filesystemSource, path, signal);
    await eventually('the object is being put on the disk', () => synced.mock.calls.length === 2);
    synced.mockRejectedValueOnce(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    await expect(ask(server, brought, path)).rejects.toMatchObject({ code: 'store.full' });
    const before = synced.mock.calls.length;
    expect(await ask(server, brought, path)).toMatchObject({ digest: brought.digest });
    // The object, and the directory with its name.
    expect(synced.mock.calls.length).toBeGreaterThanOrEqual(before + 2);
    expect(await listed(scratch, 'unsynced')).toHaveLength(1);
    resolve();
    await commandLine.waitUntilSynced();
  });

  it('does not wait for the disk again when that is done', async () => {
    await using scratch = await ScratchDirectory.make();
    const [commandLine, server] = [await opened(scratch), await opened(scratch, 'before')];
    const { digest } = await commandLine.add(filesystemSource, await scratch.put('policy.bin', WEIGHTS), signal);
    await commandLine.waitUntilSynced();
    const synced = await syncs(scratch);
    expect(await server.find(digest)).toMatchObject({ digest });
    expect(synced).not.toHaveBeenCalled();
  });
});
