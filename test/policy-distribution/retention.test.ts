import { link, readdir, rm, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Digest } from '../../src/kernel/ids.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { chooseCheckpointsToRemove, type RetainedCheckpoint } from '../../src/policy-distribution/store/retention.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { ScratchDirectory } from './scratch-directory.ts';

failOnLeftoverProcesses();

const signal = new AbortController().signal;
const HOUR = 3_600_000;
const none = (): boolean => false;
const HOLDER = join(import.meta.dirname, 'checkpoint-holder.ts');

class Fixture implements AsyncDisposable {
  readonly scratch: ScratchDirectory;
  readonly clock: SkippableClock;
  readonly store: CheckpointStore;

  private constructor(scratch: ScratchDirectory, clock: SkippableClock, store: CheckpointStore) {
    this.scratch = scratch;
    this.clock = clock;
    this.store = store;
  }

  static async open(): Promise<Fixture> {
    const scratch = await ScratchDirectory.make();
    const clock = new SkippableClock();
    const limits = { maxBytes: 1_000_000, maxFiles: 100 };
    return new Fixture(scratch, clock, await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits, clock }));
  }

  /** A checkpoint of a hundred bytes. */
  async add(name: string): Promise<StoredCheckpoint> {
    return this.store.add(filesystemSource, await this.scratch.put(`${name}.bin`, name.padEnd(100, '.')), signal);
  }

  /** One that was used that many hours ago, after all that were added before. */
  async unused(name: string): Promise<StoredCheckpoint> {
    const stored = await this.add(name);
    this.clock.skip(2 * HOUR);
    return stored;
  }

  objects(): Promise<string[]> {
    return readdir(join(this.scratch.path, 'store/objects'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scratch[Symbol.asyncDispose]();
  }
}

describe('checkpoints beyond what may be kept', () => {
  it('are deleted in the order of their last use, and no more than necessary', async () => {
    await using fixture = await Fixture.open();
    const [a, b, c] = [await fixture.unused('a'), await fixture.unused('b'), await fixture.unused('c')];
    await fixture.store.find(a.digest);
    fixture.clock.skip(2 * HOUR);
    expect(await fixture.store.retain({ maxBytes: 200, isNeeded: none }, signal)).toEqual({
      forgotten: [b.digest],
      removed: [b.digest],
      packed: [],
      bytes: 100,
    });
    expect(await fixture.store.find(b.digest)).toBeUndefined();
    expect([await fixture.store.find(a.digest), await fixture.store.find(c.digest)]).toEqual([a, c]);
    expect(await fixture.objects()).toHaveLength(2);
  });

  it('stay while they are held, and count as used until then', async () => {
    await using fixture = await Fixture.open();
    const [a, b] = [await fixture.unused('a'), await fixture.unused('b')];
    const held = await fixture.store.hold(a.digest);
    expect(held).toBeDefined();
    fixture.clock.skip(48 * HOUR);
    expect((await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).forgotten).toEqual([b.digest]);
    await held?.[Symbol.asyncDispose]();
    expect((await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).forgotten).toEqual([]);
    fixture.clock.skip(2 * HOUR);
    expect((await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).forgotten).toEqual([a.digest]);
    expect(await fixture.store.hold(a.digest)).toBeUndefined();
    expect(await readdir(join(fixture.scratch.path, 'store/holds'))).toEqual([]);
  });

  it('are held by one file however many in this process hold them, until the last lets go', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    const holds = (): Promise<string[]> => readdir(join(fixture.scratch.path, 'store/holds'));
    const [first, second] = await Promise.all([fixture.store.hold(a.digest), fixture.store.hold(a.digest)]);
    expect(await holds()).toHaveLength(1);
    await first?.[Symbol.asyncDispose]();
    // Letting go twice releases no other hold.
    await first?.[Symbol.asyncDispose]();
    fixture.clock.skip(48 * HOUR);
    expect((await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).forgotten).toEqual([]);
    const [third] = await Promise.all([fixture.store.hold(a.digest), second?.[Symbol.asyncDispose]()]);
    expect(await holds()).toHaveLength(1);
    await third?.[Symbol.asyncDispose]();
    expect(await holds()).toEqual([]);
  });

  it('cannot be held while they are missing, and can be again once they are sent', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal);
    expect(await Promise.all([fixture.store.hold(a.digest), fixture.store.hold(a.digest)])).toEqual([undefined, undefined]);
    await fixture.add('a');
    await using held = await fixture.store.hold(a.digest);
    expect(held).toBeDefined();
  });

  it('stay while another process holds them, and go once it was killed', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    const holder = spawn(process.execPath, [HOLDER, join(fixture.scratch.path, 'store'), a.digest], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(holder, 'exit');
    await once(holder.stdout, 'data');
    fixture.clock.skip(20 * HOUR);
    expect((await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).forgotten).toEqual([]);
    holder.kill('SIGKILL');
    await ended;
    expect((await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).forgotten).toEqual([a.digest]);
  });

  it('stay while an evaluation will need them, or has just sent them', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    await fixture.add('b');
    expect(await fixture.store.retain({ maxBytes: 0, isNeeded: (digest) => digest === a.digest }, signal)).toEqual({
      forgotten: [],
      removed: [],
      packed: [],
      bytes: 0,
    });
  });

  it('stay when there is no bound', async () => {
    await using fixture = await Fixture.open();
    await fixture.unused('a');
    expect(await fixture.store.retain({ maxBytes: undefined, isNeeded: none }, signal)).toEqual({
      forgotten: [],
      removed: [],
      packed: [],
      bytes: 0,
    });
  });

  it('leave a file that another checkpoint also has', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    await fixture.scratch.put('both/a.bin', 'a'.padEnd(100, '.'));
    await fixture.scratch.put('both/more.bin', 'more');
    const both = await fixture.store.add(filesystemSource, join(fixture.scratch.path, 'both'), signal);
    expect(await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).toEqual({
      forgotten: [a.digest],
      removed: [],
      packed: [],
      bytes: 0,
    });
    expect(await fixture.store.find(both.digest)).toEqual(both);
  });

  it('leave a file that a sandbox has in the sandbox', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    const inside = join(fixture.scratch.path, 'inbox');
    await link(a.files[0]?.hostPath ?? '', inside);
    expect(await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal)).toEqual({
      forgotten: [a.digest],
      removed: [],
      packed: [],
      bytes: 0,
    });
    expect(await fixture.objects()).toHaveLength(1);
    await rm(inside);
    expect(await fixture.store.retain({ maxBytes: undefined, isNeeded: none }, signal)).toEqual({
      forgotten: [],
      removed: [a.digest],
      packed: [],
      bytes: 100,
    });
  });

  it('can be sent again', async () => {
    await using fixture = await Fixture.open();
    const a = await fixture.unused('a');
    await fixture.store.retain({ maxBytes: 0, isNeeded: none }, signal);
    expect(await fixture.add('a')).toEqual(a);
    expect(await fixture.store.find(a.digest)).toEqual(a);
  });
});

describe('a checkpoint that is looked for', () => {
  it('is found under the name that is asked for, when it is one file', async () => {
    await using fixture = await Fixture.open();
    const { digest } = await fixture.add('a');
    expect((await fixture.store.find(digest, 'policy.safetensors'))?.files.map(({ path }) => path)).toEqual(['policy.safetensors']);
    expect((await fixture.store.find(digest))?.files.map(({ path }) => path)).toEqual(['a.bin']);
    await expect(fixture.store.find(digest, '../x')).rejects.toMatchObject({ code: 'checkpoint.path' });
  });

  it('is not there when a file of it is gone or damaged, or its record cannot be read', async () => {
    await using fixture = await Fixture.open();
    const [a, b, c] = [await fixture.add('a'), await fixture.add('b'), await fixture.add('c')];
    await rm(a.files[0]?.hostPath ?? '');
    await rm(b.files[0]?.hostPath ?? '');
    await writeFile(b.files[0]?.hostPath ?? '', 'short');
    await writeFile(join(fixture.scratch.path, 'store/checkpoints', c.digest.slice(7)), '{"kind":');
    for (const { digest } of [a, b, c]) expect(await fixture.store.find(digest)).toBeUndefined();
    expect(await fixture.store.find(digestBytes('nothing'))).toBeUndefined();
    for (const name of ['a', 'b', 'c']) expect(await fixture.store.find((await fixture.add(name)).digest)).toBeDefined();
  });
});

describe('the choice of what to delete', () => {
  const file = fc.record({
    digest: fc.constantFrom('f1', 'f2', 'f3', 'f4', 'f5').map(digestBytes),
    size: fc.constant(10),
    path: fc.constant('a.bin'),
  });
  const contents = new Map(['f1', 'f2', 'f3', 'f4', 'f5'].map((name) => [digestBytes(name), { bytes: 10, base: undefined }]));
  const kept: fc.Arbitrary<RetainedCheckpoint[]> = fc
    .array(fc.record({ files: fc.array(file, { minLength: 1, maxLength: 4 }), usedMs: fc.nat(20), isNeeded: fc.boolean() }), {
      maxLength: 8,
    })
    .map((all) => all.map((one, i) => ({ ...one, digest: digestBytes(`checkpoint ${i}`) })));
  const bytesOf = (all: readonly RetainedCheckpoint[]): number =>
    new Set(all.flatMap(({ files }) => files.map(({ digest }) => digest))).size * 10;

  it('lets the rest fit, unless the needed files exceed the bound', () => {
    fc.assert(
      fc.property(kept, fc.nat(60), (all, maxBytes) => {
        const gone = new Set<Digest>(chooseCheckpointsToRemove(all, contents, maxBytes));
        const left = all.filter(({ digest }) => !gone.has(digest));
        const fits = bytesOf(left) <= maxBytes;
        expect(fits || left.every(({ isNeeded }) => isNeeded)).toBe(true);
        expect(all.some(({ digest, isNeeded }) => isNeeded && gone.has(digest))).toBe(false);
      }),
    );
  });

  it('is older than everything that stays, and no larger than necessary', () => {
    fc.assert(
      fc.property(kept, fc.nat(60), (all, maxBytes) => {
        const gone = chooseCheckpointsToRemove(all, contents, maxBytes);
        const left = all.filter(({ digest, isNeeded }) => !isNeeded && !gone.includes(digest));
        const used = (digest: Digest): number => all.find((one) => one.digest === digest)?.usedMs ?? Number.NaN;
        for (const digest of gone) expect(left.every(({ usedMs }) => usedMs >= used(digest))).toBe(true);
        const last = gone.at(-1);
        const withLast = all.filter(({ digest }) => digest === last || !gone.includes(digest));
        expect(last === undefined || bytesOf(withLast) > maxBytes).toBe(true);
      }),
    );
  });
});
