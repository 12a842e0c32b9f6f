import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readlink, rename, rm, symlink, utimes, writeFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { InputError } from '../../src/kernel/errors.ts';
import type { CheckpointListing, CheckpointSource, ListedFile } from '../../src/policy-distribution/checkpoint-source.ts';
import { checkpointSourceContract, type CheckpointSourceSubject } from '../contract/checkpoint-source.ts';
import { ScratchDirectory } from './scratch-directory.ts';

checkpointSourceContract('the file system', async () => {
  const scratch = await ScratchDirectory.make();
  return sceneOf(scratch, filesystemSource);
});

function sceneOf(scratch: ScratchDirectory, source: CheckpointSource): CheckpointSourceSubject {
  return {
    source,
    uri: (path) => join(scratch.path, path),
    put: async (path, bytes) => {
      await mkdir(dirname(join(scratch.path, path)), { recursive: true });
      await writeFile(join(scratch.path, path), bytes);
    },
    remove: (path) => rm(join(scratch.path, path)),
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  };
}

const signal = new AbortController().signal;
const list = (uri: string): Promise<CheckpointListing> => filesystemSource.list(uri, { signal, maxFiles: 100 });

async function turnedIntoFile(path: string): Promise<void> {
  await rm(path, { recursive: true });
  await writeFile(path, 'x');
}

async function turnedIntoLink(path: string): Promise<void> {
  await rm(path);
  await symlink('/etc/hostname', path);
}

describe('checkpoints on the file system', () => {
  it('can be named by a file: URL', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy with spaces.bin', 'x');
    expect((await list(pathToFileURL(path).href)).files).toMatchObject([{ path: 'policy with spaces.bin', address: path }]);
  });

  it('a directory without files is listed as empty', async () => {
    await using scratch = await ScratchDirectory.make();
    await mkdir(join(scratch.path, 'nothing/in/it'), { recursive: true });
    expect(await list(scratch.path)).toEqual({ kind: 'directory', files: [] });
  });

  it('a link such as "latest" may be the name of the checkpoint itself', async () => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('step-7/policy.bin', 'x');
    await symlink('step-7', join(scratch.path, 'latest'));
    expect((await list(join(scratch.path, 'latest'))).files.map(({ path }) => path)).toEqual(['policy.bin']);
  });

  it('a link within the checkpoint is followed', async () => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('blobs/one', 'x');
    await symlink('blobs/one', join(scratch.path, 'policy.bin'));
    const listing = await list(scratch.path);
    expect(listing.files.map(({ path }) => path).sort()).toEqual(['blobs/one', 'policy.bin']);
  });

  it.each([
    ['a file outside', '../outside.bin'],
    ['a directory that only begins with the same name', '../inside-not'],
    ['the directory that it is in', '.'],
    ['itself', 'link'],
  ])('a link to %s is refused by name', async (_, target) => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('outside.bin', 'secret');
    await scratch.put('inside-not/secret', 'secret');
    await scratch.put('inside/policy.bin', 'x');
    const link = join(scratch.path, 'inside/link');
    await symlink(target, link);
    await expect(list(join(scratch.path, 'inside'))).rejects.toMatchObject({
      code: 'checkpoint.link',
      message: expect.stringContaining(link),
    });
  });

  it('directories that multiply by links, though none leads back and no file is in them, are refused', async () => {
    await using scratch = await ScratchDirectory.make();
    for (let level = 0; level <= 40; level += 1) {
      await mkdir(join(scratch.path, `${level}`));
      if (level < 40) for (const name of ['left', 'right']) await symlink(`../${level + 1}`, join(scratch.path, `${level}/${name}`));
    }
    await expect(list(scratch.path)).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.too-many-directories',
      message: expect.stringContaining(scratch.path),
    });
  });

  it.each<[string, (directory: string) => Promise<void>, string[] | string]>([
    ['nothing is another', async () => undefined, ['a.py', 'inner/b.py']],
    ['a file has come', (directory) => writeFile(join(directory, 'inner/c.py'), 'c'), ['a.py', 'inner/b.py', 'inner/c.py']],
    ['a file is gone', (directory) => rm(join(directory, 'a.py')), ['inner/b.py']],
    ['a directory is gone', (directory) => rm(join(directory, 'inner'), { recursive: true }), ['a.py']],
    ['a directory has become a file', (directory) => turnedIntoFile(join(directory, 'inner')), ['a.py', 'inner']],
    ['a file has become a link that leads outside', (directory) => turnedIntoLink(join(directory, 'a.py')), 'checkpoint.link'],
    ['all of it is gone', (directory) => rm(directory, { recursive: true }), 'checkpoint.missing'],
  ])('a listing that is made again is of what is there now: %s', async (_what, change, expected) => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('modules/a.py', 'a');
    await scratch.put('modules/inner/b.py', 'b');
    const directory = join(scratch.path, 'modules');
    await list(directory);
    await change(directory);
    const again = list(directory).then(
      ({ files }) => files.map(({ path }) => path).sort(),
      (error: unknown) => (error instanceof InputError ? error.code : error),
    );
    expect(await again).toEqual(expected);
  });

  it('a file that was written again between two listings has another revision', async () => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('modules/a.py', 'a');
    const revision = async (): Promise<string | undefined> => (await list(join(scratch.path, 'modules'))).files[0]?.revision;
    const before = await revision();
    await scratch.put('modules/a.py', 'another');
    expect(await revision()).not.toBe(before);
  });

  it('two directories that link to each other are refused', async () => {
    await using scratch = await ScratchDirectory.make();
    await mkdir(join(scratch.path, 'a'));
    await mkdir(join(scratch.path, 'b'));
    await symlink('../b', join(scratch.path, 'a/to-b'));
    await symlink('../a', join(scratch.path, 'b/to-a'));
    await expect(list(scratch.path)).rejects.toMatchObject({ code: 'checkpoint.link' });
  });

  it('a named pipe is refused without waiting for its writer', async () => {
    await using scratch = await ScratchDirectory.make();
    execFileSync('mkfifo', [join(scratch.path, 'pipe')]);
    await expect(list(scratch.path)).rejects.toMatchObject({ code: 'checkpoint.special', message: expect.stringContaining('named pipe') });
    await expect(list(join(scratch.path, 'pipe'))).rejects.toMatchObject({ code: 'checkpoint.special' });
  });

  it('a socket is refused', async () => {
    await using scratch = await ScratchDirectory.make();
    const server = createServer().listen(join(scratch.path, 'socket'));
    await once(server, 'listening');
    await expect(list(scratch.path)).rejects.toMatchObject({ code: 'checkpoint.special', message: expect.stringContaining('socket') });
    server.close();
    await once(server, 'close');
  });

  it.each(['line\nbreak', 'back\\slash'])('a file named %j is refused', async (name) => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put(name, 'x');
    await expect(list(scratch.path)).rejects.toMatchObject({ code: 'checkpoint.path' });
  });

  it('a file name that is not UTF-8 is refused', async () => {
    await using scratch = await ScratchDirectory.make();
    await writeFile(Buffer.concat([Buffer.from(`${scratch.path}/`), Buffer.from([0xff, 0xfe])]), 'x');
    await expect(list(scratch.path)).rejects.toMatchObject({ code: 'checkpoint.path' });
  });

  it('a file that this user may not read is an input error', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', 'x');
    const file = await only(path);
    await using _ = await withoutPermission(path);
    await expect(readAll(file)).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.unreadable',
      message: expect.stringContaining(path),
    });
  });

  it('a disk that fails during the read is an infrastructure failure', async () => {
    const file = await only('/proc/self/mem');
    await expect(readAll(file)).rejects.toMatchObject({ kind: 'infrastructure', code: 'checkpoint.read' });
  });

  it('a file that was replaced by rename during the read, with the same size and time, has changed', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', new Uint8Array(1024 * 1024));
    const before = await stat(path);
    const file = await only(path);
    const iterator = filesystemSource.read(file, signal)[Symbol.asyncIterator]();
    await iterator.next();
    const other = await scratch.put('other.bin', new Uint8Array(1024 * 1024).fill(1));
    await utimes(other, before.atime, before.mtime);
    await rename(other, path);
    await expect(drain(iterator)).rejects.toMatchObject({ code: 'checkpoint.changed', address: path });
  });

  it('a file that is overwritten in place during the read, with its time restored, has changed', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', new Uint8Array(1024 * 1024));
    const noon = new Date('2026-01-01T12:00:00Z');
    await utimes(path, noon, noon);
    const iterator = filesystemSource.read(await only(path), signal)[Symbol.asyncIterator]();
    await iterator.next();
    await utimes(await scratch.put('policy.bin', new Uint8Array(1024 * 1024).fill(1)), noon, noon);
    await expect(drain(iterator)).rejects.toMatchObject({ code: 'checkpoint.changed', address: path });
  });

  it('a file whose directory is exchanged during the read has changed', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('latest/policy.bin', 'step 1');
    await scratch.put('next/policy.bin', 'step 2');
    const iterator = filesystemSource.read(await only(path), signal)[Symbol.asyncIterator]();
    await iterator.next();
    await rename(join(scratch.path, 'latest'), join(scratch.path, 'previous'));
    await rename(join(scratch.path, 'next'), join(scratch.path, 'latest'));
    await expect(drain(iterator)).rejects.toMatchObject({ code: 'checkpoint.changed', address: path });
  });

  it('a named pipe in place of a listed file does not delay the read', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', 'x');
    const file = await only(path);
    await rm(path);
    execFileSync('mkfifo', [path]);
    await expect(readAll(file)).rejects.toMatchObject({ code: 'checkpoint.changed' });
  });

  it('leaving a read early closes the file', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', new Uint8Array(1024 * 1024));
    for await (const _ of filesystemSource.read(await only(path), signal)) {
      expect(await openFiles()).toContain(path);
      break;
    }
    expect(await openFiles()).not.toContain(path);
  });
});

async function only(uri: string): Promise<ListedFile> {
  const [file] = (await list(uri)).files;
  if (file === undefined) throw new Error(`nothing at ${uri}`);
  return file;
}

async function readAll(file: ListedFile): Promise<void> {
  await drain(filesystemSource.read(file, signal)[Symbol.asyncIterator]());
}

async function drain(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  while ((await iterator.next()).done !== true) continue;
}

async function openFiles(): Promise<readonly string[]> {
  const numbers = await readdir('/proc/self/fd');
  return Promise.all(numbers.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => '')));
}

/** Root may read anything, so it becomes an ordinary user for as long. */
async function withoutPermission(path: string): Promise<AsyncDisposable> {
  await chmod(path, 0);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  return {
    async [Symbol.asyncDispose]() {
      if (isRoot) process.seteuid?.(0);
    },
  };
}
