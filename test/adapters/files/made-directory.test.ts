import { mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkdtempDisposable } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { makeDirectory } from '../../../src/adapters/files/made-directory.ts';

test('a directory is made with its parents, and the outermost new one is returned', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'muster-test-'));
  expect(await makeDirectory(join(scratch.path, 'a/b/c'))).toBe(join(scratch.path, 'a'));
  expect((await stat(join(scratch.path, 'a/b/c'))).isDirectory()).toBe(true);
  expect(await makeDirectory(join(scratch.path, 'a/b/c'))).toBeUndefined();
  expect(await makeDirectory(join(scratch.path, 'a/b/d/'))).toBe(join(scratch.path, 'a/b/d'));
});

test('several callers may make the same directory at once', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'muster-test-'));
  const paths = Array.from({ length: 40 }, (_, i) => join(scratch.path, 'x/y/z', String(i % 4)));
  await Promise.all(paths.map(async (path) => makeDirectory(path)));
  for (const path of paths) expect((await stat(path)).isDirectory()).toBe(true);
});

test('a link to a directory counts as a directory', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'muster-test-'));
  const [target, link] = [join(scratch.path, 'target'), join(scratch.path, 'link')];
  await mkdir(target);
  await symlink(target, link);
  expect(await makeDirectory(link)).toBeUndefined();
  await rm(target, { recursive: true });
  await expect(makeDirectory(link)).rejects.toMatchObject({ code: 'EEXIST' });
});

test('a directory that cannot be made is refused without further attempts', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'muster-test-'));
  const file = join(scratch.path, 'file');
  await writeFile(file, '');
  await expect(makeDirectory(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeDirectory(join(file, 'below/it'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  await expect(makeDirectory('/proc/muster/state')).rejects.toMatchObject({ code: 'ENOENT' });
});
