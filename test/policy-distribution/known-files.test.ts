import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { CheckpointSource, ListedFile } from '../../src/policy-distribution/checkpoint-source.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const { signal } = new AbortController();

/** One file of which everything can be said. */
class PaperSource implements CheckpointSource {
  content = 'weights';
  revision = '1';
  isSettled = true;
  reads = 0;

  async list(): Promise<{ readonly kind: 'file'; readonly files: readonly ListedFile[] }> {
    const { content, revision, isSettled } = this;
    return { kind: 'file', files: [{ path: 'policy.bin', size: content.length, address: '/paper', revision, isSettled }] };
  }

  async *read(): AsyncGenerator<Uint8Array> {
    this.reads += 1;
    yield Buffer.from(this.content);
  }
}

interface Fixture {
  readonly source: PaperSource;
  readonly clock: ManualClock;
  readonly add: () => Promise<string>;
  readonly objects: string;
  readonly records: string;
}

async function fixture(scratch: ScratchDirectory): Promise<Fixture> {
  const directory = join(scratch.path, 'store');
  const clock = new ManualClock();
  const store = await CheckpointStore.open({ directory, limits: { maxBytes: 1e6, maxFiles: 10 }, clock });
  const source = new PaperSource();
  return {
    source,
    clock,
    add: async () => (await store.add(source, 'paper', signal)).digest,
    objects: join(directory, 'objects'),
    records: join(directory, 'checkpoints'),
  };
}

async function onlyFileOf(directory: string): Promise<string> {
  const [name = ''] = await readdir(directory);
  return join(directory, name);
}

describe('a file that is added again', () => {
  it('is not read again while its revision is the same', async () => {
    await using scratch = await ScratchDirectory.make();
    const { source, add } = await fixture(scratch);
    expect([await add(), await add()]).toEqual([digestBytes('weights'), digestBytes('weights')]);
    expect(source.reads).toBe(1);
  });

  it('is read again when it has another revision', async () => {
    await using scratch = await ScratchDirectory.make();
    const { source, add } = await fixture(scratch);
    await add();
    [source.content, source.revision] = ['changed', '2'];
    expect(await add()).toBe(digestBytes('changed'));
  });

  it('is read again when it could have changed without another revision', async () => {
    await using scratch = await ScratchDirectory.make();
    const { source, add } = await fixture(scratch);
    source.isSettled = false;
    await add();
    source.content = 'changed';
    expect(await add()).toBe(digestBytes('changed'));
    source.isSettled = true;
    await add();
    expect(source.reads).toBe(3);
  });

  it('is read again when its stored content is gone', async () => {
    await using scratch = await ScratchDirectory.make();
    const { source, add, objects } = await fixture(scratch);
    await add();
    for (const name of await readdir(objects)) await rm(join(objects, name), { force: true });
    await add();
    expect(source.reads).toBe(2);
    expect(await readdir(objects)).toHaveLength(1);
  });

  it('is marked as used again once a minute, and not for each of many callers', async () => {
    await using scratch = await ScratchDirectory.make();
    const { clock, add, objects, records } = await fixture(scratch);
    await add();
    const marked = [await onlyFileOf(objects), await onlyFileOf(records)];
    const longAgo = new Date(1000);
    for (const path of marked) await utimes(path, longAgo, longAgo);
    await clock.advance(59_999);
    await add();
    for (const path of marked) expect((await stat(path)).mtime).toEqual(longAgo);
    await clock.advance(1);
    await add();
    for (const path of marked) expect((await stat(path)).mtime).toEqual(clock.date());
  });
});
