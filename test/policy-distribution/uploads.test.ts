import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open, readdir, readFile, rename, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { filesystemSource } from '../../src/adapters/checkpoints/filesystem.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { parseDigest } from '../../src/kernel/ids.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { UploadOffsetError, Uploads, type Uploaded, type UploadPart } from '../../src/policy-distribution/uploads/uploads.ts';
import { eventually } from '../support/eventually.ts';
import { heldMemory } from '../support/held-memory.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { ScratchDirectory } from './scratch-directory.ts';
import { EVERYTHING } from '../support/upload-fixture.ts';

failOnLeftoverProcesses();
afterEach(() => {
  vi.restoreAllMocks();
});

const signal = new AbortController().signal;
const WEIGHTS = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 31) % 256));
const HOUR = 3_600_000;
const UPLOADER = join(import.meta.dirname, 'half-finished-uploader.ts');

class Fixture implements AsyncDisposable {
  readonly scratch: ScratchDirectory;
  readonly clock: SkippableClock;
  readonly store: CheckpointStore;
  readonly uploads: Uploads;

  private constructor(scratch: ScratchDirectory, clock: SkippableClock, store: CheckpointStore, uploads: Uploads) {
    this.clock = clock;
    this.scratch = scratch;
    this.store = store;
    this.uploads = uploads;
  }

  static async open(maxBytes = 10_000): Promise<Fixture> {
    const scratch = await ScratchDirectory.make();
    const clock = new SkippableClock();
    const store = await CheckpointStore.open({ directory: join(scratch.path, 'store'), limits: { maxBytes, maxFiles: 10 }, clock });
    const limits = { maxBytes, unfinishedMs: 24 * HOUR };
    return new Fixture(scratch, clock, store, await Uploads.open(join(scratch.path, 'uploads'), store, limits, clock));
  }

  part(changes: Partial<Omit<UploadPart, 'bytes'>> & { bytes?: UploadPart['bytes'] } = {}): UploadPart {
    return {
      digest: digestBytes(WEIGHTS),
      uploader: 'pipeline',
      content: { kind: 'file', name: 'policy.bin' },
      usable: EVERYTHING,
      offset: 0,
      size: WEIGHTS.length,
      bytes: pieces(WEIGHTS),
      ...changes,
    };
  }

  /** All of `bytes` under its own digest. */
  send(bytes: Buffer, changes: Partial<UploadPart> = {}): Promise<Uploaded> {
    return this.uploads.append(this.part({ digest: digestBytes(bytes), size: bytes.length, bytes: pieces(bytes), ...changes }), signal);
  }

  files(): Promise<string[]> {
    return readdir(join(this.scratch.path, 'uploads'));
  }

  objects(): Promise<string[]> {
    return readdir(join(this.scratch.path, 'store/objects'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.uploads[Symbol.asyncDispose]();
    await this.scratch[Symbol.asyncDispose]();
    expect(this.clock.pending, 'timers that were left').toBe(0);
  }
}

describe('an upload', () => {
  it('in one piece becomes a checkpoint, read-only, and leaves nothing else', async () => {
    await using fixture = await Fixture.open();
    const uploaded = await fixture.uploads.append(fixture.part(), signal);
    if (uploaded.kind !== 'stored') throw new Error('it was not stored');
    const [file] = uploaded.checkpoint.files;
    expect(uploaded.checkpoint).toMatchObject({ digest: digestBytes(WEIGHTS), kind: 'file' });
    expect(file).toMatchObject({ path: 'policy.bin', size: WEIGHTS.length, digest: digestBytes(WEIGHTS) });
    expect(await readFile(file?.hostPath ?? '')).toEqual(WEIGHTS);
    expect((await stat(file?.hostPath ?? '')).mode & 0o777).toBe(0o444);
    expect(await fixture.files()).toEqual([]);
    expect(await fixture.store.find(digestBytes(WEIGHTS))).toEqual(uploaded.checkpoint);
  });

  it('in several pieces says after each where the next one begins', async () => {
    await using fixture = await Fixture.open();
    for (const [from, to] of [
      [0, 1000],
      [1000, 1001],
      [1001, 4999],
    ] as const) {
      const uploaded = await fixture.uploads.append(fixture.part({ offset: from, bytes: pieces(WEIGHTS.subarray(from, to)) }), signal);
      expect(uploaded).toEqual({ kind: 'partial', received: to });
      expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(to);
    }
    expect(await fixture.uploads.append(fixture.part({ offset: 4999, bytes: pieces(WEIGHTS.subarray(4999)) }), signal)).toMatchObject({
      kind: 'stored',
    });
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(0);
  });

  it('that does not begin where the last piece ended is told the position', async () => {
    await using fixture = await Fixture.open();
    await fixture.uploads.append(fixture.part({ bytes: pieces(WEIGHTS.subarray(0, 1000)) }), signal);
    for (const offset of [999, 1001, 5000]) {
      const refused = fixture.uploads.append(fixture.part({ offset, bytes: pieces(WEIGHTS.subarray(offset)) }), signal);
      await expect(refused).rejects.toThrow(UploadOffsetError);
      await expect(refused).rejects.toMatchObject({ kind: 'input', code: 'upload.offset', received: 1000 });
    }
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(1000);
  });

  it('can be started again', async () => {
    await using fixture = await Fixture.open();
    await fixture.uploads.append(fixture.part({ bytes: pieces(Buffer.alloc(4000, 1)) }), signal);
    expect(await fixture.uploads.append(fixture.part(), signal)).toMatchObject({ kind: 'stored' });
  });

  it('whose connection breaks continues from the last byte that came', async () => {
    await using fixture = await Fixture.open();
    const broken = new Error('ECONNRESET');
    const breaking = async function* (): AsyncGenerator<Uint8Array> {
      yield WEIGHTS.subarray(0, 2000);
      throw broken;
    };
    await expect(fixture.uploads.append(fixture.part({ bytes: breaking() }), signal)).rejects.toBe(broken);
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(2000);
    expect(await fixture.uploads.append(fixture.part({ offset: 2000, bytes: pieces(WEIGHTS.subarray(2000)) }), signal)).toMatchObject({
      kind: 'stored',
    });
  });

  it('that came whole, but was not verified before the end, is finished by an empty piece', async () => {
    await using fixture = await Fixture.open();
    const stop = new AbortController();
    const stopping = async function* (): AsyncGenerator<Uint8Array> {
      yield WEIGHTS;
      stop.abort(new Error('the caller has gone'));
    };
    await expect(fixture.uploads.append(fixture.part({ bytes: stopping() }), stop.signal)).rejects.toThrow('the caller has gone');
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(5000);
    expect(await fixture.uploads.append(fixture.part({ offset: 5000, bytes: pieces(Buffer.alloc(0)) }), signal)).toMatchObject({
      kind: 'stored',
    });
  });

  it('that is silent for a minute is given up, and can be resumed', async () => {
    await using fixture = await Fixture.open();
    const appending = fixture.uploads.append(fixture.part({ bytes: hanging(WEIGHTS.subarray(0, 2000)) }), signal);
    const ended = appending.catch((error: unknown) => error);
    await eventually(
      'the first bytes have come',
      async () => (await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')) === 2000,
    );
    fixture.clock.skip(61_000);
    expect(await ended).toMatchObject({ kind: 'input', code: 'upload.stalled' });
    expect(await fixture.uploads.append(fixture.part({ offset: 2000, bytes: pieces(WEIGHTS.subarray(2000)) }), signal)).toMatchObject({
      kind: 'stored',
    });
  });

  it('is limited to the speed of the disk, however large it is', async () => {
    await using fixture = await Fixture.open(400_000_000);
    const chunk = Buffer.alloc(1_000_000, 7);
    const hash = createHash('sha256');
    for (let i = 0; i < 300; i += 1) hash.update(chunk);
    const digest = parseDigest(`sha256:${hash.digest('hex')}`);
    const held: number[] = [];
    const fresh = async function* (): AsyncGenerator<Uint8Array> {
      for (let given = 0; given < 300; given += 1) {
        if (given % 50 === 0) held.push(heldMemory());
        yield Buffer.alloc(1_000_000, 7);
      }
      held.push(heldMemory());
    };
    const uploaded = await fixture.uploads.append(fixture.part({ digest, size: 300_000_000, bytes: fresh() }), signal);
    expect(uploaded).toMatchObject({ kind: 'stored' });
    expect(Math.max(...held) - Math.min(...held)).toBeLessThan(10_000_000);
  });
});

describe('an upload that is wrong', () => {
  it.each([
    ['bytes that are not those of the digest', { bytes: pieces(Buffer.alloc(5000)) }, 'checkpoint.digest'],
    ['more bytes than were announced', { size: 4000 }, 'upload.too-long'],
    ['fewer bytes than the digest’s', { size: 4000, bytes: pieces(WEIGHTS.subarray(0, 4000)) }, 'checkpoint.digest'],
  ])('%s: is removed, and can be sent anew', async (_, changes, code) => {
    await using fixture = await Fixture.open();
    await expect(fixture.uploads.append(fixture.part(changes), signal)).rejects.toMatchObject({ kind: 'input', code });
    expect([...(await fixture.files()), ...(await fixture.objects())]).toEqual([]);
    expect(await fixture.store.find(digestBytes(WEIGHTS))).toBeUndefined();
    expect(await fixture.uploads.append(fixture.part(), signal)).toMatchObject({ kind: 'stored' });
  });

  it('a safetensors file with false sizes is refused, though its digest is right', async () => {
    await using fixture = await Fixture.open();
    const header = Buffer.from('{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}');
    const length = Buffer.from([header.length, 0, 0, 0, 0, 0, 0, 0]);
    const content = { kind: 'file', name: 'policy.safetensors' } as const;
    const truncated = Buffer.concat([length, header, Buffer.alloc(15)]);
    await expect(fixture.send(truncated, { content })).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.safetensors',
      message: expect.stringContaining('policy.safetensors'),
    });
    expect([...(await fixture.files()), ...(await fixture.objects())]).toEqual([]);
    expect(await fixture.send(Buffer.concat([length, header, Buffer.alloc(16)]), { content })).toMatchObject({ kind: 'stored' });
  });

  it('too much is refused before a byte of it is read', async () => {
    await using fixture = await Fixture.open(4999);
    const unread = { [Symbol.asyncIterator]: (): never => expect.unreachable('nothing may be read') };
    await expect(fixture.uploads.append(fixture.part({ bytes: unread }), signal)).rejects.toMatchObject({ code: 'checkpoint.too-large' });
  });

  it.each(['', '../escape', '/absolute', 'a/b', 'line\nbreak', '.'])('the name %j is refused', async (name) => {
    await using fixture = await Fixture.open();
    await expect(fixture.send(WEIGHTS, { content: { kind: 'file', name } })).rejects.toMatchObject({ code: 'checkpoint.path' });
  });

  it('a full disk is an infrastructure failure, and leaves nothing of the upload', async () => {
    await using fixture = await Fixture.open();
    const handle = await open(await fixture.scratch.put('any', ''));
    const prototype: typeof handle = Object.getPrototypeOf(handle);
    await handle.close();
    vi.spyOn(prototype, 'write').mockRejectedValue(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
    await expect(fixture.send(WEIGHTS)).rejects.toMatchObject({ kind: 'infrastructure', code: 'store.full' });
    expect([...(await fixture.files()), ...(await fixture.objects())]).toEqual([]);
  });
});

describe('uploads of the same checkpoint', () => {
  it('by several principals do not disturb each other, and are one in the end', async () => {
    await using fixture = await Fixture.open();
    await fixture.uploads.append(fixture.part({ uploader: 'intruder', bytes: pieces(Buffer.alloc(3000)) }), signal);
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(0);
    const both = await Promise.all(['pipeline', 'researcher'].map((uploader) => fixture.send(WEIGHTS, { uploader })));
    expect(both.map(({ kind }) => kind)).toEqual(['stored', 'stored']);
    expect(await fixture.objects()).toHaveLength(1);
    await expect(
      fixture.uploads.append(fixture.part({ uploader: 'intruder', offset: 3000, bytes: pieces(WEIGHTS.subarray(3000)) }), signal),
    ).rejects.toMatchObject({ code: 'checkpoint.digest' });
    expect(await fixture.store.find(digestBytes(WEIGHTS))).toBeDefined();
  });

  it('by one principal: the latest stream continues, earlier ones are ended', async () => {
    await using fixture = await Fixture.open();
    const dead = fixture.uploads.append(fixture.part({ bytes: hanging(WEIGHTS.subarray(0, 2000)) }), signal);
    const ended = dead.catch((error: unknown) => error);
    await eventually(
      'the first bytes have come',
      async () => (await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')) === 2000,
    );
    expect(await fixture.uploads.append(fixture.part({ offset: 2000, bytes: pieces(WEIGHTS.subarray(2000)) }), signal)).toMatchObject({
      kind: 'stored',
    });
    expect(await ended).toMatchObject({ code: 'upload.superseded' });
  });

  it('many at a time by one end with one that is stored', async () => {
    await using fixture = await Fixture.open();
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => fixture.send(WEIGHTS)));
    expect(all.at(-1)).toMatchObject({ status: 'fulfilled', value: { kind: 'stored' } });
    for (const one of all.slice(0, -1))
      expect(one).toMatchObject(one.status === 'fulfilled' ? { value: { kind: 'stored' } } : { reason: { code: 'upload.superseded' } });
    expect(await fixture.files()).toEqual([]);
  });
});

describe('unfinished uploads', () => {
  it('continue after a restart, also when the process was killed', async () => {
    await using fixture = await Fixture.open();
    const child = spawn(process.execPath, [UPLOADER, fixture.scratch.path, digestBytes(WEIGHTS)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    child.stdin.write(WEIGHTS.subarray(0, 3000));
    await eventually('it has written them', async () => (await sizes(fixture)).includes(3000));
    // As long as that process lives, no other takes it.
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(0);
    child.kill('SIGKILL');
    await ended;
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(3000);
    expect(await fixture.uploads.append(fixture.part({ offset: 3000, bytes: pieces(WEIGHTS.subarray(3000)) }), signal)).toMatchObject({
      kind: 'stored',
    });
  });

  it('of another container are taken over once nothing was written for minutes', async () => {
    await using fixture = await Fixture.open();
    await fixture.uploads.append(fixture.part({ bytes: pieces(WEIGHTS.subarray(0, 1000)) }), signal);
    const [own = ''] = await fixture.files();
    const elsewhere = own.replace(/\.[0-9a-f]{16}\.\d+\.\d+\.[^.]+$/, '.ffffffffffffffff.1.1.elsewhere');
    await rename(join(fixture.scratch.path, 'uploads', own), join(fixture.scratch.path, 'uploads', elsewhere));
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(0);
    fixture.clock.skip(6 * 60_000);
    expect(await fixture.uploads.countReceived(digestBytes(WEIGHTS), 'pipeline')).toBe(1000);
  });

  it('are counted for their principal', async () => {
    await using fixture = await Fixture.open();
    await fixture.uploads.append(fixture.part({ bytes: pieces(WEIGHTS.subarray(0, 1000)) }), signal);
    await fixture.uploads.append(fixture.part({ digest: digestBytes('other'), bytes: pieces(WEIGHTS.subarray(0, 500)) }), signal);
    await fixture.uploads.append(fixture.part({ uploader: 'researcher', bytes: pieces(WEIGHTS.subarray(0, 7)) }), signal);
    expect(await fixture.uploads.sumPendingBytes('pipeline')).toBe(1500);
    expect(await fixture.uploads.sumPendingBytes('researcher')).toBe(7);
    expect(await fixture.uploads.sumPendingBytes('nobody')).toBe(0);
  });

  it('are swept when they have not continued for long, and not while they continue', async () => {
    await using fixture = await Fixture.open();
    await fixture.uploads.append(fixture.part({ uploader: 'researcher', bytes: pieces(WEIGHTS.subarray(0, 7)) }), signal);
    const open = fixture.uploads.append(fixture.part({ bytes: hanging(WEIGHTS.subarray(0, 2000)) }), signal);
    await eventually('the first bytes have come', async () => (await sizes(fixture)).includes(2000));
    for (const name of await fixture.files()) await utimes(join(fixture.scratch.path, 'uploads', name), new Date(0), new Date(0));
    expect(await fixture.uploads.sweep()).toBe(1);
    expect(await sizes(fixture)).toEqual([2000]);
    await fixture.uploads[Symbol.asyncDispose]();
    await expect(open).rejects.toThrow('uploads are closing');
    expect(await fixture.uploads.sweep()).toBe(1);
    expect(await fixture.files()).toEqual([]);
  });

  it('stay when Muster closes', async () => {
    await using fixture = await Fixture.open();
    const open = fixture.uploads.append(fixture.part({ bytes: hanging(WEIGHTS.subarray(0, 2000)) }), signal);
    const ended = open.catch((error: unknown) => error);
    await eventually('the first bytes have come', async () => (await sizes(fixture)).includes(2000));
    await fixture.uploads[Symbol.asyncDispose]();
    expect(await ended).toMatchObject({ message: 'uploads are closing' });
    expect(await sizes(fixture)).toEqual([2000]);
  });
});

describe('a directory', () => {
  it('is assembled from files that were sent, under the name that sha256sum gives it', async () => {
    await using fixture = await Fixture.open();
    const source = await ScratchDirectory.make();
    await using _ = source;
    await source.put('c/model/weights.bin', 'weights');
    await source.put('c/muster.json', '{}');
    const manifest = execFileSync('bash', ['-c', `find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum --`], {
      cwd: join(source.path, 'c'),
    });
    const content = { kind: 'manifest' } as const;
    await expect(fixture.send(manifest, { content })).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.incomplete',
      message: expect.stringContaining(digestBytes('weights').slice(7)),
    });
    await fixture.send(Buffer.from('weights'));
    await fixture.send(Buffer.from('{}'));
    const uploaded = await fixture.send(manifest, { content });
    const added = await fixture.store.add(filesystemSource, join(source.path, 'c'), signal);
    expect(uploaded).toEqual({ kind: 'stored', checkpoint: added });
    expect(await fixture.store.find(added.digest)).toEqual(added);
    expect(await fixture.files()).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['no lines', 'nonsense\n', 'checkpoint.manifest'],
    ['more files than a checkpoint may have', `${'0'.repeat(64)}  a\n`.repeat(101), 'checkpoint.too-many-files'],
    ['a hundred thousand of them, and more', `${'0'.repeat(64)}  a\n`.repeat(150_000), 'checkpoint.too-many-files'],
    ['no end', `${'0'.repeat(64)}  a`, 'checkpoint.manifest'],
    ['a path that leads out', `${digestBytes('x').slice(7)}  ../x\n`, 'checkpoint.path'],
    ['a path twice', `${digestBytes('x').slice(7)}  a\n${digestBytes('x').slice(7)}  a\n`, 'checkpoint.path'],
    ['another order', `${digestBytes('x').slice(7)}  b\n${digestBytes('x').slice(7)}  a\n`, 'checkpoint.digest'],
  ])('with %s in its manifest is refused', async (_, manifest, code) => {
    await using fixture = await Fixture.open();
    await fixture.send(Buffer.from('x'));
    await expect(fixture.send(Buffer.from(manifest), { content: { kind: 'manifest' } })).rejects.toMatchObject({ kind: 'input', code });
    expect(await fixture.files()).toEqual([]);
  });
});

async function sizes(fixture: Fixture): Promise<readonly number[]> {
  const names = await fixture.files();
  return Promise.all(names.map(async (name) => (await stat(join(fixture.scratch.path, 'uploads', name))).size));
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
}

/** A connection that is open, and over which nothing comes any more. */
async function* hanging(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
  await new Promise(() => undefined);
}
