import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readdir, readFile, stat, truncate, utimes, writeFile, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { systemClock, type Clock } from '../../src/kernel/clock.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import type { CheckpointSource } from '../../src/policy-distribution/checkpoint-source.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const signal = new AbortController().signal;
const limits = { maxBytes: 100_000_000, maxFiles: 100 };
const openStore = (scratch: ScratchDirectory, clock: Clock = systemClock): Promise<CheckpointStore> =>
  CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock });
const objects = (scratch: ScratchDirectory): Promise<string[]> => readdir(join(scratch.path, 'store/objects'));
const incoming = (scratch: ScratchDirectory): Promise<string[]> => readdir(join(scratch.path, 'store/incoming'));

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the name of a checkpoint', () => {
  it('is the sha256 of its bytes for a file, with labels that do not change it', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', 'weights');
    const stored = await store.add(filesystemSource, path, signal, { run: 'r1', version: 7 });
    expect(stored).toMatchObject({ digest: digestBytes('weights'), kind: 'file', labels: { run: 'r1', version: 7 } });
    expect(stored.files).toMatchObject([{ path: 'policy.bin', size: 7, digest: digestBytes('weights') }]);
  });

  it('equals the digest by find, sort and sha256sum for a directory', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    // In UTF-16 order the emoji comes before U+FF5E, in byte order after it.
    for (const path of ['b', 'a/z', 'a.txt', '.hidden', 'ä', '\u{1f600}', '\uff5e', 'with space'])
      await scratch.put(`c/${path}`, `content of ${path}`);
    const manifest = `find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- | sha256sum`;
    const expected = execFileSync('bash', ['-c', manifest], { cwd: join(scratch.path, 'c'), encoding: 'utf8' }).slice(0, 64);
    expect((await store.add(filesystemSource, join(scratch.path, 'c'), signal)).digest).toBe(`sha256:${expected}`);
  });

  it('differs when the same bytes have another path', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    await scratch.put('one/a', 'x');
    await scratch.put('two/b', 'x');
    const [one, two] = await addAll(store, [join(scratch.path, 'one'), join(scratch.path, 'two')]);
    expect(one?.digest).not.toBe(two?.digest);
    expect(one?.files[0]?.hostPath).toBe(two?.files[0]?.hostPath);
  });
});

describe('the store', () => {
  it('keeps every content once, read-only, however often it is added', async () => {
    await using scratch = await ScratchDirectory.make();
    const stores = [await openStore(scratch), await openStore(scratch)];
    await scratch.put('c/a.bin', 'same');
    await scratch.put('c/b.bin', 'same');
    await scratch.put('c/c.bin', 'other');
    const added = await Promise.all(stores.flatMap((store) => addAll(store, [join(scratch.path, 'c'), join(scratch.path, 'c/a.bin')])));
    expect((await objects(scratch)).length).toBe(2);
    expect(await incoming(scratch)).toEqual([]);
    for (const file of added.flat().flatMap(({ files }) => files)) {
      expect(digestBytes(await readFile(file.hostPath))).toBe(file.digest);
      expect((await stat(file.hostPath)).mode & 0o777).toBe(0o444);
    }
  });

  it('leaves an existing object alone', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', 'weights');
    const [first] = await addAll(store, [path]);
    const before = await stat(first?.files[0]?.hostPath ?? '');
    await addAll(store, [path]);
    expect((await stat(first?.files[0]?.hostPath ?? '')).ino).toBe(before.ino);
  });

  it('replaces a truncated object', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', 'weights');
    const [first] = await addAll(store, [path]);
    const hostPath = first?.files[0]?.hostPath ?? '';
    await chmod(hostPath, 0o600);
    await truncate(hostPath, 3);
    await addAll(store, [path]);
    expect(await readFile(hostPath, 'utf8')).toBe('weights');
  });

  it('refuses a checkpoint without files', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    await expect(store.add(filesystemSource, join(scratch.path, 'store/objects'), signal)).rejects.toMatchObject({
      code: 'checkpoint.empty',
    });
  });

  it('refuses what is too large before a byte of it is read', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await CheckpointStore.open({
      directory: join(scratch.path, 'store'),
      limits: { maxBytes: 10, maxFiles: 2 },
      clock: systemClock,
    });
    await scratch.put('c/a', '12345');
    await scratch.put('c/b', '123456');
    const unreadable: CheckpointSource = {
      list: (uri, options) => filesystemSource.list(uri, options),
      read: () => expect.unreachable('nothing may be read'),
    };
    const adding = store.add(unreadable, join(scratch.path, 'c'), signal);
    await expect(adding).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.too-large',
      message: expect.stringContaining('checkpoints.maxBytes'),
    });
  });

  it.each(['fewer', 'more'] as const)('does not trust a source that yields %s bytes than it listed', async (kind) => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', 'weights');
    const source: CheckpointSource = {
      list: (uri, options) => filesystemSource.list(uri, options),
      async *read() {
        yield Buffer.from(kind === 'fewer' ? 'weight' : 'weights!');
      },
    };
    await expect(store.add(source, path, signal)).rejects.toMatchObject({ code: 'checkpoint.changed', address: path });
    expect([...(await objects(scratch)), ...(await incoming(scratch))]).toEqual([]);
  });

  it('stops a source that never ends', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', 'weights');
    const source: CheckpointSource = {
      list: (uri, options) => filesystemSource.list(uri, options),
      async *read() {
        for (;;) yield Buffer.from('weights');
      },
    };
    await expect(store.add(source, path, signal)).rejects.toMatchObject({ code: 'checkpoint.changed', address: path });
  });

  it.each(['../escape', '/absolute', 'a//b', 'a/./b', ''])('does not trust a source that lists the path %j', async (path) => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const source: CheckpointSource = {
      list: async () => ({ kind: 'directory', files: [{ path, size: 0, address: 'x', revision: '1' }] }),
      async *read() {},
    };
    await expect(store.add(source, 'x', signal)).rejects.toMatchObject({ code: 'checkpoint.path' });
  });

  it.each([
    ['a file that was read is rewritten', 'a.bin'],
    ['a file appears', 'new.bin'],
  ])('names no directory of which %s while the others are read', async (_, name) => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    await scratch.put('c/a.bin', 'step 1');
    await scratch.put('c/b.bin', 'step 1');
    const source: CheckpointSource = {
      list: (uri, options) => filesystemSource.list(uri, options),
      async *read(file, abort) {
        yield* filesystemSource.read(file, abort);
        if (file.path === 'b.bin') await scratch.put(`c/${name}`, 'step 2');
      },
    };
    const adding = store.add(source, join(scratch.path, 'c'), signal);
    await expect(adding).rejects.toMatchObject({ code: 'checkpoint.changed', address: join(scratch.path, 'c', name) });
  });

  it('refuses a truncated safetensors file, and keeps nothing of it', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const header = '{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}';
    const length = Buffer.from([header.length, 0, 0, 0, 0, 0, 0, 0]);
    const whole = Buffer.concat([length, Buffer.from(header), Buffer.alloc(16)]);
    const path = await scratch.put('policy.safetensors', whole.subarray(0, -1));
    await expect(store.add(filesystemSource, path, signal)).rejects.toMatchObject({
      code: 'checkpoint.safetensors',
      message: expect.stringContaining(path),
    });
    expect([...(await objects(scratch)), ...(await incoming(scratch))]).toEqual([]);
    await writeFile(path, whole);
    expect((await store.add(filesystemSource, path, signal)).digest).toBe(digestBytes(whole));
  });

  it('a cancelled addition leaves nothing and says why it was cancelled', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', new Uint8Array(1024 * 1024));
    const stop = new AbortController();
    const source: CheckpointSource = {
      list: (uri, options) => filesystemSource.list(uri, options),
      async *read(file, abort) {
        for await (const chunk of filesystemSource.read(file, abort)) {
          yield chunk;
          stop.abort(new Error('no longer wanted'));
        }
      },
    };
    await expect(store.add(source, path, stop.signal)).rejects.toThrow('no longer wanted');
    expect([...(await objects(scratch)), ...(await incoming(scratch))]).toEqual([]);
  });

  it('a full disk is an infrastructure failure that names the disk, and leaves nothing half done', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('policy.bin', 'weights');
    const handle = await open(path);
    const prototype: typeof handle = Object.getPrototypeOf(handle);
    await handle.close();
    vi.spyOn(prototype, 'write').mockRejectedValue(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
    await expect(store.add(filesystemSource, path, signal)).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.full' });
    expect([...(await objects(scratch)), ...(await incoming(scratch))]).toEqual([]);
  });

  it('a path where no directory can be made is named', async () => {
    await using scratch = await ScratchDirectory.make();
    const directory = join(await scratch.put('a-file', ''), 'store');
    await expect(CheckpointStore.open({ directory, limits, clock: systemClock })).rejects.toMatchObject({
      code: 'store.unusable',
      message: expect.stringContaining(directory),
    });
  });
});

describe("a suite's own modules", () => {
  it('keep their name when Python has left its caches between them', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    await scratch.put('code/env.py', 'x = 1');
    await scratch.put('code/game/board.py', 'y = 2');
    const before = await store.addDirectory(filesystemSource, join(scratch.path, 'code'), signal);
    await scratch.put('code/__pycache__/env.cpython-311.pyc', 'cache');
    await scratch.put('code/game/__pycache__/board.cpython-311.pyc', 'cache');
    await scratch.put('code/old.pyc', 'cache');
    expect(await store.addDirectory(filesystemSource, join(scratch.path, 'code'), signal)).toEqual(before);
  });

  it('must be a directory', async () => {
    await using scratch = await ScratchDirectory.make();
    const store = await openStore(scratch);
    const path = await scratch.put('env.py', 'x = 1');
    await expect(store.addDirectory(filesystemSource, path, signal)).rejects.toMatchObject({ code: 'checkpoint.not-a-directory' });
    expect(await objects(scratch)).toEqual([]);
  });
});

describe('what a killed Muster left unfinished', () => {
  it('never has the name of an object, and is removed when the next one starts', async () => {
    await using scratch = await ScratchDirectory.make();
    const writer = spawn(process.execPath, [join(import.meta.dirname, 'half-finished-writer.ts'), join(scratch.path, 'store')]);
    const ended = once(writer, 'exit');
    await once(writer.stdout, 'data');
    await openStore(scratch);
    expect(await incoming(scratch)).toHaveLength(1);
    writer.kill('SIGKILL');
    await ended;
    expect(await objects(scratch)).toEqual([]);
    await openStore(scratch);
    expect(await incoming(scratch)).toEqual([]);
  });

  it('is distinguished from files of a live Muster, also when its process id is used again', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', 'weights');
    const source: CheckpointSource = {
      list: (uri, options) => filesystemSource.list(uri, options),
      async *read(file, abort) {
        const [own = ''] = await incoming(scratch);
        const reused = own.replace(/\.\d+\.(?=[^.]+$)/, '.1.');
        await scratch.put(`store/incoming/${reused}`, 'half');
        await openStore(scratch);
        expect(await incoming(scratch)).toEqual([own]);
        yield* filesystemSource.read(file, abort);
      },
    };
    const living = await openStore(scratch);
    await expect(living.add(source, path, signal)).resolves.toMatchObject({ digest: digestBytes('weights') });
  });

  it('in another container is left alone for a day', async () => {
    await using scratch = await ScratchDirectory.make();
    await openStore(scratch);
    const name = 'ffffffffffffffff.1.1.elsewhere';
    const path = await scratch.put(`store/incoming/${name}`, 'half');
    const start = new Date('2026-01-01T00:00:00Z');
    await utimes(path, start, start);
    const at = (hours: number): Clock => ({ ...systemClock, date: () => new Date(start.getTime() + hours * 3_600_000) });
    await openStore(scratch, at(23));
    expect(await incoming(scratch)).toEqual([name]);
    await openStore(scratch, at(25));
    expect(await incoming(scratch)).toEqual([]);
  });
});

async function addAll(store: CheckpointStore, uris: readonly string[]): Promise<readonly StoredCheckpoint[]> {
  return Promise.all(uris.map((uri) => store.add(filesystemSource, uri, signal)));
}
