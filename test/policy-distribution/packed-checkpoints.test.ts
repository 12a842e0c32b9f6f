import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { getDigestHex } from '../../src/policy-distribution/checkpoint.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { MOST_DELTAS } from '../../src/policy-distribution/store/packing.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { encoded } from './encoded-delta.ts';
import { safetensorsFile, trained, weights } from './safetensors-file.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const signal = new AbortController().signal;
const HOUR = 3_600_000;
const keepAll = { maxBytes: undefined, isNeeded: () => false };
const COUNT = 60_000;
const BYTES = 2 * COUNT;
const KILLED_PACKER = join(import.meta.dirname, 'killed-packer.ts');
const KILLED_REMOVER = join(import.meta.dirname, 'killed-remover.ts');

class Fixture implements AsyncDisposable {
  readonly scratch: ScratchDirectory;
  readonly clock: SkippableClock;
  readonly store: CheckpointStore;
  #weights = weights(COUNT, 1);
  #steps = 0;

  private constructor(scratch: ScratchDirectory, clock: SkippableClock, store: CheckpointStore) {
    [this.scratch, this.clock, this.store] = [scratch, clock, store];
  }

  static async open(): Promise<Fixture> {
    const scratch = await ScratchDirectory.make();
    const clock = new SkippableClock();
    return new Fixture(scratch, clock, await openStore(scratch, clock));
  }

  /** The next checkpoint of a run, of which one value in a hundred is another; used two hours ago. */
  async step(): Promise<StoredCheckpoint> {
    this.#steps += 1;
    this.#weights = trained(this.#weights, 0.01, this.#steps);
    return this.add(`step-${this.#steps}.safetensors`, safetensorsFile({ w: this.#weights }));
  }

  async add(name: string, content: Uint8Array): Promise<StoredCheckpoint> {
    const stored = await this.store.add(filesystemSource, await this.scratch.put(name, content), signal);
    this.clock.skip(2 * HOUR);
    return stored;
  }

  files(kind: 'objects' | 'packed' | 'incoming' | `withdrawn/${string}`): Promise<string[]> {
    return readdir(join(this.scratch.path, 'store', kind));
  }

  async bytes(): Promise<number> {
    const sizes = (['objects', 'packed'] as const).map(async (kind) => {
      const names = await this.files(kind);
      return Promise.all(names.map(async (name) => (await stat(join(this.scratch.path, 'store', kind, name))).size));
    });
    return (await Promise.all(sizes)).flat().reduce((sum, size) => sum + size, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scratch[Symbol.asyncDispose]();
  }
}

const openStore = (scratch: ScratchDirectory, clock: SkippableClock): Promise<CheckpointStore> =>
  CheckpointStore.open({ directory: join(scratch.path, 'store'), limits: { maxBytes: 100_000_000, maxFiles: 100 }, clock });

describe('checkpoints that are not in use', () => {
  it('are stored as deltas of the next one, and read unchanged', async () => {
    await using fixture = await Fixture.open();
    const [first, second, third] = [await fixture.step(), await fixture.step(), await fixture.step()];
    const retained = await fixture.store.retain(keepAll, signal);
    expect(retained).toMatchObject({ forgotten: [], removed: [], packed: [first.digest, second.digest] });
    expect(await fixture.files('objects')).toEqual([third.digest.slice(7)]);
    expect(await fixture.bytes()).toBeLessThan(1.1 * BYTES);
    for (const each of [first, second, third]) {
      expect(await fixture.store.find(each.digest)).toEqual(each);
      expect(digestBytes(await readFile(each.files[0]?.hostPath ?? ''))).toBe(each.digest);
    }
    expect(await fixture.files('incoming')).toEqual([]);
  });

  it('stay whole while they are held, needed or were used a short time ago', async () => {
    await using fixture = await Fixture.open();
    const [first, second, third] = [await fixture.step(), await fixture.step(), await fixture.step()];
    await fixture.store.find(third.digest);
    await using _held = await fixture.store.hold(first.digest);
    expect((await fixture.store.retain({ ...keepAll, isNeeded: (digest) => digest === second.digest }, signal)).packed).toEqual([]);
  });

  it('lose a file again that was rebuilt for an evaluation, and keep their delta', async () => {
    await using fixture = await Fixture.open();
    const first = await fixture.step();
    await fixture.step();
    await fixture.store.retain(keepAll, signal);
    const packed = await fixture.files('packed');
    await fixture.store.find(first.digest);
    expect(await fixture.files('objects')).toHaveLength(2);
    fixture.clock.skip(2 * HOUR);
    expect(await fixture.store.retain(keepAll, signal)).toMatchObject({ packed: [first.digest], bytes: first.files[0]?.size });
    expect([await fixture.files('objects'), await fixture.files('packed')]).toMatchObject([{ length: 1 }, packed]);
  });

  it('stay whole when no similar checkpoint was used later', async () => {
    await using fixture = await Fixture.open();
    await fixture.add('a.safetensors', safetensorsFile({ w: weights(COUNT, 7) }));
    await fixture.add('b.safetensors', safetensorsFile({ w: weights(COUNT, 8) }));
    await fixture.add('c.safetensors', safetensorsFile({ w: weights(COUNT + 1, 9) }));
    expect((await fixture.store.retain(keepAll, signal)).packed).toEqual([]);
    expect(await fixture.files('packed')).toEqual([]);
  });

  it('of other formats are encoded against a checkpoint of the same size', async () => {
    await using fixture = await Fixture.open();
    const before = weights(COUNT, 3);
    const first = await fixture.add('a.onnx', Buffer.from(before.buffer));
    await fixture.add('b.onnx', Buffer.from(trained(before, 0.01, 4).buffer));
    expect((await fixture.store.retain(keepAll, signal)).packed).toEqual([first.digest]);
    expect(await fixture.store.find(first.digest)).toEqual(first);
  });

  it('are read through a bounded number of deltas, however long the run', async () => {
    await using fixture = await Fixture.open();
    const all: StoredCheckpoint[] = [];
    for (let i = 0; i < 2 * MOST_DELTAS + 3; i += 1) all.push(await fixture.step());
    await fixture.store.retain(keepAll, signal);
    // The last one, and each that is the base of so many others.
    expect(await fixture.files('objects')).toHaveLength(3);
    expect(await fixture.bytes()).toBeLessThan(3 * BYTES + all.length * 0.04 * BYTES);
    for (const i of [0, MOST_DELTAS, MOST_DELTAS + 1, all.length - 1])
      expect(await fixture.store.find(all[i]?.digest ?? digestBytes(''))).toEqual(all[i]);
  });

  it('are deleted beyond the bound, the oldest first, but never a base of others', async () => {
    await using fixture = await Fixture.open();
    const all = [await fixture.step(), await fixture.step(), await fixture.step()];
    const retained = await fixture.store.retain({ ...keepAll, maxBytes: 1.02 * BYTES }, signal);
    expect(retained).toMatchObject({ forgotten: [all[0]?.digest], removed: [all[0]?.digest] });
    expect(await fixture.store.find(all[1]?.digest ?? digestBytes(''))).toEqual(all[1]);
    // The middle one is needed, so its base stays although its own checkpoint goes.
    fixture.clock.skip(2 * HOUR);
    await fixture.store.retain(keepAll, signal);
    fixture.clock.skip(2 * HOUR);
    const next = await fixture.store.retain({ maxBytes: 0, isNeeded: (digest) => digest === all[1]?.digest }, signal);
    expect(next.forgotten).toEqual([all[2]?.digest]);
    expect(await fixture.store.find(all[1]?.digest ?? digestBytes(''))).toEqual(all[1]);
  });
});

describe('a store that is checked', () => {
  it('reports how much of it is intact, whole or as deltas', async () => {
    await using fixture = await Fixture.open();
    for (let i = 0; i < 3; i += 1) await fixture.step();
    await fixture.store.retain(keepAll, signal);
    const bytes = await fixture.bytes();
    expect(await fixture.store.verify({ remove: false, signal })).toEqual({ intact: 3, bytes, damaged: [], incomplete: [] });
  });

  it('reports damaged files and incomplete checkpoints, and removes the damaged files on request', async () => {
    await using fixture = await Fixture.open();
    const [first, second, third] = [await fixture.step(), await fixture.step(), await fixture.step()];
    await fixture.store.retain(keepAll, signal);
    const path = third.files[0]?.hostPath ?? '';
    await chmod(path, 0o600);
    await writeFile(path, flipped(await readFile(path), 60_000));
    const found = await fixture.store.verify({ remove: true, signal });
    expect(found.damaged.map(({ digest }) => digest).sort()).toEqual([first.digest, second.digest, third.digest].sort());
    expect(found.incomplete.map(({ missing }) => missing.join()).sort()).toEqual([1, 2, 3].map((step) => `step-${step}.safetensors`));
    expect([await fixture.files('objects'), await fixture.files('packed')]).toEqual([[], []]);
    expect(await fixture.store.verify({ remove: false, signal })).toMatchObject({ intact: 0, damaged: [], incomplete: { length: 3 } });
    const again = join(fixture.scratch.path, 'step-3.safetensors');
    expect(await fixture.store.add(filesystemSource, again, signal)).toEqual(third);
  });

  it('is unchanged without that request', async () => {
    await using fixture = await Fixture.open();
    const only = await fixture.step();
    const path = only.files[0]?.hostPath ?? '';
    await chmod(path, 0o600);
    await writeFile(path, flipped(await readFile(path), 0));
    const problem = expect.stringMatching(/^it is sha256:/);
    expect((await fixture.store.verify({ remove: false, signal })).damaged).toEqual([
      { path, digest: only.digest, problem, removed: false },
    ]);
    expect(await fixture.files('objects')).toHaveLength(1);
  });
});

describe('a damaged store', () => {
  it('never returns a file from a delta or a base with a flipped bit', async () => {
    await using fixture = await Fixture.open();
    const first = await fixture.step();
    const second = await fixture.step();
    await fixture.store.retain(keepAll, signal);
    const [name = ''] = await fixture.files('packed');
    for (const path of [join(fixture.scratch.path, 'store/packed', name), second.files[0]?.hostPath ?? '']) {
      const whole = await readFile(path);
      await chmod(path, 0o600);
      for (const share of [0, 0.3, 0.6, 0.9, 0.9999]) {
        await writeFile(path, flipped(whole, Math.floor(share * whole.length)));
        expect(await fixture.store.find(first.digest)).toBeUndefined();
        await expect(fixture.store.restore(first)).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.damaged' });
      }
      await writeFile(path, whole);
    }
    expect([await fixture.files('incoming'), await fixture.files('objects')]).toMatchObject([[], { length: 1 }]);
    expect(await fixture.store.find(first.digest)).toEqual(first);
  });

  it('never returns another file than a delta is named for, even if the delta is valid', async () => {
    await using fixture = await Fixture.open();
    const [first, second] = [await fixture.step(), await fixture.step()];
    await fixture.store.retain(keepAll, signal);
    const path = join(fixture.scratch.path, 'store/packed', (await fixture.files('packed'))[0] ?? '');
    const base = await readFile(second.files[0]?.hostPath ?? '');
    await chmod(path, 0o600);
    await writeFile(path, await encoded('step.safetensors', base, base, Infinity, first.digest));
    expect(await fixture.store.find(first.digest)).toBeUndefined();
    await expect(fixture.store.restore(first)).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.damaged' });
    expect(await fixture.files('objects')).toHaveLength(1);
  });

  it('does not replace a file by a damaged delta', async () => {
    await using fixture = await Fixture.open();
    const first = await fixture.step();
    await fixture.step();
    await fixture.store.retain(keepAll, signal);
    await fixture.store.find(first.digest);
    const path = join(fixture.scratch.path, 'store/packed', (await fixture.files('packed'))[0] ?? '');
    await chmod(path, 0o600);
    await writeFile(path, flipped(await readFile(path), 100));
    fixture.clock.skip(2 * HOUR);
    expect((await fixture.store.retain(keepAll, signal)).packed).toEqual([]);
    expect(await fixture.store.find(first.digest)).toEqual(first);
    expect(await fixture.files('packed')).toEqual([]);
  });

  it('treats a checkpoint without its base as missing, until it is sent again', async () => {
    await using fixture = await Fixture.open();
    const [first, second] = [await fixture.step(), await fixture.step()];
    await fixture.store.retain(keepAll, signal);
    await rm(second.files[0]?.hostPath ?? '');
    expect(await fixture.store.find(first.digest)).toBeUndefined();
    const path = join(fixture.scratch.path, 'step-1.safetensors');
    expect(await fixture.store.add(filesystemSource, path, signal)).toEqual(first);
    expect(await fixture.store.find(first.digest)).toEqual(first);
  });

  it('has exactly its earlier content after Musters were killed while they packed and rebuilt', async () => {
    await using fixture = await Fixture.open();
    const all = [await fixture.step(), await fixture.step(), await fixture.step()];
    const directory = join(fixture.scratch.path, 'store');
    for (const outputs of [1, 2, 3, 4]) {
      const packer = spawn(process.execPath, [KILLED_PACKER, directory, ...all.map(({ digest }) => digest)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(packer, 'exit');
      for (let i = 0; i < outputs; i += 1) await once(packer.stdout, 'data');
      packer.kill('SIGKILL');
      await ended;
      const store = await openStore(fixture.scratch, fixture.clock);
      expect(await fixture.files('incoming')).toEqual([]);
      expect(await store.verify({ remove: false, signal })).toMatchObject({ damaged: [], incomplete: [] });
    }
    for (const each of all) expect(await fixture.store.find(each.digest)).toEqual(each);
  });

  it.each(['objects', 'packed', 'checkpoints'] as const)(
    'has what was on its way out of %s in a Muster that was killed, once another one starts, or makes room',
    async (what) => {
      await using fixture = await Fixture.open();
      const [first, second] = [await fixture.step(), await fixture.step()];
      if (what === 'packed') await fixture.store.retain(keepAll, signal);
      const directory = join(fixture.scratch.path, 'store');
      await fixture.scratch.put(`store/holds/ffffffffffffffff.1.1.elsewhere.${getDigestHex(second.digest)}`, '');
      for (const next of ['start', 'retain']) {
        const remover = spawn(process.execPath, [KILLED_REMOVER, directory, what, first.digest], { stdio: 'inherit' });
        expect(await once(remover, 'exit')).toEqual([null, 'SIGKILL']);
        expect(await fixture.files(`withdrawn/${what}`)).toHaveLength(1);
        if (next === 'start') await openStore(fixture.scratch, fixture.clock);
        else await fixture.store.retain({ ...keepAll, isNeeded: () => true }, signal);
        expect(await fixture.files(`withdrawn/${what}`)).toEqual([]);
      }
      expect(await fixture.store.find(first.digest)).toEqual(first);
    },
  );

  it('keeps a file that is sent again while it is being deleted', async () => {
    await using fixture = await Fixture.open();
    const first = await fixture.step();
    const hex = getDigestHex(first.digest);
    const remover = spawn(process.execPath, [KILLED_REMOVER, join(fixture.scratch.path, 'store'), 'objects', first.digest]);
    await once(remover, 'exit');
    const path = join(fixture.scratch.path, 'step-1.safetensors');
    expect(await fixture.store.add(filesystemSource, path, signal)).toEqual(first);
    const store = await openStore(fixture.scratch, fixture.clock);
    expect([await fixture.files('withdrawn/objects'), await fixture.files('objects')]).toEqual([[], [hex]]);
    expect(await store.find(first.digest)).toEqual(first);
  });

  it('reports a full disk during packing and rebuilding, and loses nothing', async () => {
    await using fixture = await Fixture.open();
    const [first] = [await fixture.step(), await fixture.step()];
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const handle = await open(first.files[0]?.hostPath ?? '');
    const prototype: typeof handle = Object.getPrototypeOf(handle);
    await handle.close();
    const spy = vi.spyOn(prototype, 'write').mockRejectedValue(full);
    await expect(fixture.store.retain(keepAll, signal)).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.full' });
    spy.mockRestore();
    expect((await fixture.store.retain(keepAll, signal)).packed).toEqual([first.digest]);
    const again = vi.spyOn(prototype, 'write').mockRejectedValue(full);
    await expect(fixture.store.find(first.digest)).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.full' });
    again.mockRestore();
    expect(await fixture.files('incoming')).toEqual([]);
    expect(await fixture.store.find(first.digest)).toEqual(first);
  });

  it('loses nothing when several Musters pack it at once', async () => {
    await using fixture = await Fixture.open();
    const all = [await fixture.step(), await fixture.step(), await fixture.step(), await fixture.step()];
    const others = [await openStore(fixture.scratch, fixture.clock), await openStore(fixture.scratch, fixture.clock)];
    for (const { digest } of all.toReversed()) {
      await Promise.all([fixture.store, ...others].map((store) => store.retain(keepAll, signal)));
      expect(await fixture.store.verify({ remove: false, signal })).toMatchObject({ damaged: [], incomplete: [] });
      // Another order each time: what was a delta of the next one may become its base.
      await fixture.store.find(digest);
      fixture.clock.skip(2 * HOUR);
    }
    for (const each of all) expect(await fixture.store.find(each.digest)).toEqual(each);
  });

  it('is rebuilt once by however many ask for it at once, in several Musters', async () => {
    await using fixture = await Fixture.open();
    const [first] = [await fixture.step(), await fixture.step()];
    await fixture.store.retain(keepAll, signal);
    const other = await openStore(fixture.scratch, fixture.clock);
    const found = await Promise.all([fixture.store, fixture.store, other, other].map((store) => store.find(first.digest)));
    expect(found).toEqual([first, first, first, first]);
    expect([await fixture.files('objects'), await fixture.files('incoming')]).toMatchObject([{ length: 2 }, []]);
  });

  it('is unchanged when packing is interrupted', async () => {
    await using fixture = await Fixture.open();
    const [first, second] = [await fixture.step(), await fixture.step()];
    const stop = new AbortController();
    stop.abort(new Error('closing'));
    await expect(fixture.store.retain(keepAll, stop.signal)).rejects.toThrow('closing');
    expect([await fixture.files('packed'), await fixture.files('incoming')]).toEqual([[], []]);
    for (const each of [first, second]) expect(await fixture.store.find(each.digest)).toEqual(each);
  });
});

function flipped(whole: Uint8Array, at: number): Buffer {
  const copy = Buffer.from(whole);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}
