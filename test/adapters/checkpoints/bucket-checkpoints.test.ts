import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { filesystemSource } from '../../../src/adapters/checkpoints/filesystem.ts';
import { ObjectSource } from '../../../src/adapters/checkpoints/objects/object-source.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import type { CheckpointSource } from '../../../src/policy-distribution/checkpoint-source.ts';
import { CheckpointStore } from '../../../src/policy-distribution/store/checkpoint-store.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import type { ObjectServer } from '../../support/object-servers.ts';
import { gcsContext, s3Context, useTestCredentials } from '../../support/object-fixture.ts';

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());
useTestCredentials();

const signal = new AbortController().signal;
const WEIGHTS = Buffer.from(Array.from({ length: 2_000_000 }, (_, i) => (i * 31) % 251));

function openStore(scratch: ScratchDirectory): Promise<CheckpointStore> {
  return CheckpointStore.open({
    directory: join(scratch.path, 'store'),
    limits: { maxBytes: 10_000_000, maxFiles: 10 },
    clock: systemClock,
  });
}

function kept(scratch: ScratchDirectory, kind: 'objects' | 'incoming'): Promise<string[]> {
  return readdir(join(scratch.path, 'store', kind));
}

/** Notes what is read. */
function noting(source: CheckpointSource, read: string[]): CheckpointSource {
  return {
    list: (uri, options) => source.list(uri, options),
    read(file, until) {
      read.push(file.path);
      return source.read(file, until);
    },
  };
}

describe.each([gcsContext, s3Context])('a checkpoint in $name', (context) => {
  describe.skipIf(context.missing !== undefined)(`that is brought into a store${context.skipped}`, () => {
    let server: ObjectServer;
    beforeAll(async () => {
      server = await context.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    it('is not read again while it is the same, and at once when it was replaced', async () => {
      await using scratch = await ScratchDirectory.make();
      await using bucket = await context.bucket(server);
      const read: string[] = [];
      const source = noting(new ObjectSource(bucket.store, systemClock), read);
      const store = await openStore(scratch);
      await bucket.put('run/policy.bin', WEIGHTS);
      for (const uri of [bucket.uri('run/policy.bin'), bucket.uri('run/policy.bin')]) await store.add(source, uri, signal);
      expect(read).toEqual(['policy.bin']);
      await bucket.put('run/policy.bin', WEIGHTS.toReversed());
      expect((await store.add(source, bucket.uri('run/policy.bin'), signal)).digest).toBe(digestBytes(WEIGHTS.toReversed()));
      expect(read).toEqual(['policy.bin', 'policy.bin']);
    });

    it('leaves nothing while the disk is full, and is whole once there is room', async () => {
      await using scratch = await ScratchDirectory.make();
      await using bucket = await context.bucket(server);
      await bucket.put('run/policy.bin', WEIGHTS);
      const source = new ObjectSource(bucket.store, systemClock);
      const store = await openStore(scratch);
      const handle = await open(join(scratch.path, 'store'));
      const prototype: typeof handle = Object.getPrototypeOf(handle);
      await handle.close();
      const full = vi.spyOn(prototype, 'write').mockRejectedValue(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
      await expect(store.add(source, bucket.uri('run/policy.bin'), signal)).rejects.toMatchObject({ code: 'store.full' });
      full.mockRestore();
      expect([await kept(scratch, 'incoming'), await kept(scratch, 'objects')]).toEqual([[], []]);
      expect((await store.add(source, bucket.uri('run/policy.bin'), signal)).digest).toBe(digestBytes(WEIGHTS));
    });

    it('is one whole object when several Musters bring it at once, on one machine or several', async () => {
      await using scratch = await ScratchDirectory.make();
      await using bucket = await context.bucket(server);
      await bucket.put('run/policy.bin', WEIGHTS);
      const path = await scratch.put('policy.bin', WEIGHTS);
      const source = new ObjectSource(bucket.store, systemClock);
      const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(scratch)));
      const brought = await Promise.all(
        stores.map((store, i) =>
          store.add(i % 2 === 0 ? source : filesystemSource, i % 2 === 0 ? bucket.uri('run/policy.bin') : path, signal),
        ),
      );
      expect(new Set(brought.map(({ digest }) => digest))).toEqual(new Set([digestBytes(WEIGHTS)]));
      expect([await kept(scratch, 'incoming'), (await kept(scratch, 'objects')).length]).toEqual([[], 1]);
      expect(await stores[0]?.verify({ remove: false, signal })).toMatchObject({ damaged: [], incomplete: [] });
    });
  });
});
