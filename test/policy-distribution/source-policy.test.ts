import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createSourceByUri } from '../../src/adapters/checkpoints/by-uri.ts';
import { createFilesystemSourceWithin } from '../../src/adapters/checkpoints/filesystem.ts';
import type { CheckpointListing, CheckpointSource } from '../../src/policy-distribution/checkpoint-source.ts';
import { checkpointSourceContract } from '../contract/checkpoint-source.ts';
import { ScratchDirectory } from './scratch-directory.ts';

checkpointSourceContract('the file system within roots', async () => {
  const scratch = await ScratchDirectory.make();
  return {
    source: createSourceByUri({ ...refusing, files: createFilesystemSourceWithin([scratch.path]) }),
    uri: (path) => join(scratch.path, path),
    put: async (path, bytes) => {
      await mkdir(dirname(join(scratch.path, path)), { recursive: true });
      await writeFile(join(scratch.path, path), bytes);
    },
    remove: (path) => rm(join(scratch.path, path)),
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  };
});

const never: CheckpointSource = {
  list: () => expect.unreachable('it is for the other source'),
  read: () => expect.unreachable('it is for the other source'),
};
const refusing = { files: never, web: never, gcs: never, s3: never };
const signal = new AbortController().signal;
const list = (source: CheckpointSource, uri: string): Promise<CheckpointListing> => source.list(uri, { signal, maxFiles: 100 });
const OUTSIDE = { kind: 'input', code: 'checkpoint.outside' };

describe('a caller of the server', () => {
  it('may name checkpoints within the roots, by path and by URL, also when a root is a link', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('real/run-1/policy.bin', 'x');
    await symlink('real', join(scratch.path, 'root'));
    const source = createFilesystemSourceWithin([join(scratch.path, 'root')]);
    for (const uri of [path, pathToFileURL(path).href, join(scratch.path, 'root/run-1/policy.bin'), join(scratch.path, 'root/run-1')])
      expect((await list(source, uri)).files).toMatchObject([{ path: 'policy.bin', address: path }]);
  });

  it.each(['/etc/passwd', '/', '/proc/self/environ', 'relative/path', 'file:///etc/passwd', '/etc/nothing-of-that-name'])(
    'may not name %s, and does not learn whether it is there',
    async (uri) => {
      await using scratch = await ScratchDirectory.make();
      await expect(list(createFilesystemSourceWithin([scratch.path]), uri)).rejects.toMatchObject(OUTSIDE);
    },
  );

  it.each(['../outside.bin', 'root/../../outside.bin', '../root-not/secret.bin'])('may not leave the roots by %s', async (path) => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('outside.bin', 'secret');
    await scratch.put('root-not/secret.bin', 'secret');
    await scratch.put('root/policy.bin', 'x');
    const source = createFilesystemSourceWithin([join(scratch.path, 'root')]);
    await expect(list(source, `${join(scratch.path, 'root')}/${path}`)).rejects.toMatchObject(OUTSIDE);
    await expect(list(source, `file://${join(scratch.path, 'root')}/${encodeURIComponent(path)}`)).rejects.toMatchObject({ kind: 'input' });
  });

  it.each([
    ['a file', '../outside.bin'],
    ['a directory', '..'],
    ['what is not there', '../../nothing'],
  ])('may not leave the roots by a link to %s', async (_, target) => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('outside.bin', 'secret');
    await scratch.put('root/policy.bin', 'x');
    await symlink(target, join(scratch.path, 'root/link'));
    const listing = list(createFilesystemSourceWithin([join(scratch.path, 'root')]), join(scratch.path, 'root/link'));
    await expect(listing).rejects.toMatchObject({ kind: 'input', code: expect.stringMatching(/^checkpoint\.(outside|missing)$/) });
  });

  it('gets nothing of a file whose directory was replaced by a link to the outside after it was listed', async () => {
    await using scratch = await ScratchDirectory.make();
    await scratch.put('root/run/policy.bin', 'x');
    const source = createFilesystemSourceWithin([join(scratch.path, 'root')]);
    const [file] = (await list(source, join(scratch.path, 'root/run/policy.bin'))).files;
    if (!file) throw new Error('nothing is listed');
    // The very file that was listed, so that nothing but its place tells.
    await rename(join(scratch.path, 'root/run'), join(scratch.path, 'outside'));
    await symlink('../outside', join(scratch.path, 'root/run'));
    const reading = source.read(file, signal)[Symbol.asyncIterator]().next();
    await expect(reading).rejects.toMatchObject(OUTSIDE);
  });

  it('may name no file without roots, or without existing ones', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('policy.bin', 'x');
    for (const roots of [[], [join(scratch.path, 'nowhere')]])
      await expect(list(createFilesystemSourceWithin(roots), path)).rejects.toMatchObject(OUTSIDE);
  });

  it.each(['ftp://example.com/x', 'data:,x', 'gcs://bucket/x', 'relative/path', 'FILE', ''])(
    'may not name %j, which is of no source',
    async (uri) => {
      await expect(list(createSourceByUri(refusing), uri)).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.uri' });
    },
  );

  it('is answered by the source of the URI’s scheme, whatever its case', async () => {
    const empty: CheckpointSource = { ...never, list: async () => ({ kind: 'directory', files: [] }) };
    for (const uri of ['/x', 'file:///x', 'FILE:///x'])
      await expect(list(createSourceByUri({ ...refusing, files: empty }), uri)).resolves.toEqual({ kind: 'directory', files: [] });
    for (const uri of ['gs://bucket/x', 'GS://bucket/x'])
      await expect(list(createSourceByUri({ ...refusing, gcs: empty }), uri)).resolves.toEqual({ kind: 'directory', files: [] });
    for (const uri of ['s3://bucket/x', 'S3://bucket/x'])
      await expect(list(createSourceByUri({ ...refusing, s3: empty }), uri)).resolves.toEqual({ kind: 'directory', files: [] });
    for (const uri of ['https://host/x', 'http://host/x', 'HTTPS://host/x'])
      await expect(list(createSourceByUri({ ...refusing, web: empty }), uri)).resolves.toEqual({ kind: 'directory', files: [] });
  });
});
