import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Inbox } from '../../../../src/adapters/sandbox/local/inbox.ts';

const NEVER = new AbortController().signal;

describe('the inbox of a local sandbox', () => {
  let directory: string;
  let inbox: Inbox;
  let weights: string;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'muster-inbox-'));
    weights = path.join(directory, 'weights');
    await writeFile(weights, 'weights');
    await mkdir(path.join(directory, 'site'));
    inbox = new Inbox(path.join(directory, 'site'));
    await inbox.open();
  });
  afterEach(() => rm(directory, { recursive: true }));

  const receive = (target: string, hostPath = weights): Promise<string> => inbox.receive(target, { kind: 'file', hostPath }, NEVER);
  const stream = (target: string, text: string): Promise<string> =>
    inbox.receive(target, { kind: 'stream', stream: Readable.from([Buffer.from(text)]) }, NEVER);
  const inside = (target: string): string => path.join(inbox.directory, target);
  const left = (): Promise<string[]> => readdir(path.join(directory, 'site'));

  it('has a file of this machine as a link, without a copy', async () => {
    expect(await receive('policy/a/weights')).toBe('/muster/inbox/policy/a/weights');
    expect((await stat(inside('policy/a/weights'))).ino).toBe((await stat(weights)).ino);
    expect(await left()).toEqual(['inbox']);
  });

  it('has the target of a symbolic link, not the link', async () => {
    await symlink(weights, path.join(directory, 'latest'));
    await receive('weights', path.join(directory, 'latest'));
    expect((await lstat(inside('weights'))).isFile()).toBe(true);
    expect(await readFile(inside('weights'), 'utf8')).toBe('weights');
  });

  it('has the newer of two files with one name', async () => {
    await receive('policy/weights');
    await stream('policy/weights', 'newer');
    expect(await readFile(inside('policy/weights'), 'utf8')).toBe('newer');
    await receive('policy/weights');
    await receive('policy/weights');
    expect(await readFile(inside('policy/weights'), 'utf8')).toBe('weights');
  });

  it('refuses a directory in place of a file, and keeps nothing of it', async () => {
    await expect(receive('policy', directory)).rejects.toThrow(/policy.*is not a regular file/);
    expect(await readdir(inbox.directory)).toEqual([]);
  });

  it('is gone when it is discarded, however its files came', async () => {
    await Promise.all([receive('a/b/c/weights'), receive('a/b/weights'), receive('weights'), stream('a/d/notes', 'notes')]);
    await stream('weights', 'newer');
    await inbox.close();
    await inbox.discard();
    expect(await left()).toEqual([]);
  });

  it('is gone when it is discarded unused', async () => {
    await inbox.close();
    await inbox.discard();
    expect(await left()).toEqual([]);
  });

  it('accepts a file again that was removed from it', async () => {
    await receive('1/policy/weights');
    await receive('10/policy/weights');
    await inbox.remove('1');
    expect(await readdir(inbox.directory)).toEqual(['10']);
    await receive('1/policy/weights');
    await inbox.remove('10');
    await inbox.close();
    await inbox.discard();
    expect(await left()).toEqual([]);
  });

  it('reports a file that it did not put there', async () => {
    await receive('policy/weights');
    await writeFile(inside('policy/stranger'), '');
    await inbox.close();
    await expect(inbox.discard()).rejects.toThrow('ENOTEMPTY');
  });
});
