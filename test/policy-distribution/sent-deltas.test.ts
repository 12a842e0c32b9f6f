import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Digest } from '../../src/kernel/ids.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { Uploads, type Uploaded, type UploadContent } from '../../src/policy-distribution/uploads/uploads.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { encoded } from './encoded-delta.ts';
import { safetensorsFile, trained, weights } from './safetensors-file.ts';
import { ScratchDirectory } from './scratch-directory.ts';
import { EVERYTHING } from '../support/upload-fixture.ts';

const signal = new AbortController().signal;
const NAME = 'policy.safetensors';
const before = weights(50_000, 1);
const BASE = safetensorsFile({ w: before });
const FILE = safetensorsFile({ w: trained(before, 0.01, 2) });
const MAX_BYTES = 200_000;

class Fixture implements AsyncDisposable {
  readonly scratch: ScratchDirectory;
  readonly store: CheckpointStore;
  readonly uploads: Uploads;

  private constructor(scratch: ScratchDirectory, store: CheckpointStore, uploads: Uploads) {
    [this.scratch, this.store, this.uploads] = [scratch, store, uploads];
  }

  static async open(): Promise<Fixture> {
    const scratch = await ScratchDirectory.make();
    const clock = new SkippableClock();
    const store = await CheckpointStore.open({
      directory: join(scratch.path, 'store'),
      limits: { maxBytes: MAX_BYTES, maxFiles: 1 },
      clock,
    });
    const limits = { maxBytes: MAX_BYTES, unfinishedMs: 1000 };
    return new Fixture(scratch, store, await Uploads.open(join(scratch.path, 'uploads'), store, limits, clock));
  }

  send(digest: Digest, bytes: Uint8Array, kind: 'file' | 'delta' = 'delta', offset = 0, size = bytes.length): Promise<Uploaded> {
    const content: UploadContent = { kind, name: NAME };
    const part = { digest, uploader: 'pipeline', content, usable: EVERYTHING, offset, size, bytes: onePiece(bytes) };
    return this.uploads.append(part, signal);
  }

  async left(): Promise<readonly string[]> {
    const places = ['uploads', 'store/objects', 'store/incoming'].map((place) => readdir(join(this.scratch.path, place)));
    return (await Promise.all(places)).flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.uploads[Symbol.asyncDispose]();
    await this.scratch[Symbol.asyncDispose]();
  }
}

describe('a checkpoint that is sent as a delta of a stored one', () => {
  it('becomes the identical file, and nothing of the delta is left', async () => {
    await using fixture = await Fixture.open();
    await fixture.send(digestBytes(BASE), BASE, 'file');
    const delta = await encoded(NAME, FILE, BASE);
    expect(delta.length).toBeLessThan(0.04 * FILE.length);
    const uploaded = await fixture.send(digestBytes(FILE), delta);
    if (uploaded.kind !== 'stored') throw new Error('it was not stored');
    expect(await readFile(uploaded.checkpoint.files[0]?.hostPath ?? '')).toEqual(FILE);
    expect(uploaded.checkpoint).toMatchObject({ digest: digestBytes(FILE), files: [{ path: NAME, size: FILE.length }] });
    expect(await fixture.left()).toHaveLength(2);
  });

  it('may come in parts, and is not mixed up with parts of the whole file', async () => {
    await using fixture = await Fixture.open();
    await fixture.send(digestBytes(BASE), BASE, 'file');
    const delta = await encoded(NAME, FILE, BASE);
    const half = delta.length >> 1;
    expect(await fixture.send(digestBytes(FILE), delta.subarray(0, half), 'delta', 0, delta.length)).toEqual({
      kind: 'partial',
      received: half,
    });
    expect(await fixture.uploads.countReceived(digestBytes(FILE), 'pipeline')).toBe(0);
    await fixture.send(digestBytes(FILE), FILE.subarray(0, 1000), 'file', 0, FILE.length);
    expect(await fixture.uploads.countReceived(digestBytes(FILE), 'pipeline')).toBe(1000);
    expect(await fixture.uploads.countReceived(digestBytes(FILE), 'pipeline', 'delta')).toBe(half);
    expect(await fixture.send(digestBytes(FILE), delta.subarray(half), 'delta', half, delta.length)).toMatchObject({ kind: 'stored' });
  });

  it('is refused without its base, and can be sent whole', async () => {
    await using fixture = await Fixture.open();
    const sending = fixture.send(digestBytes(FILE), await encoded(NAME, FILE, BASE));
    await expect(sending).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.base',
      message: expect.stringContaining(digestBytes(BASE)),
    });
    expect(await fixture.left()).toEqual([]);
    expect(await fixture.send(digestBytes(FILE), FILE, 'file')).toMatchObject({ kind: 'stored' });
  });

  it.each([
    ['tells another file', async () => encoded(NAME, BASE, BASE), 'checkpoint.delta'],
    [
      'says that it tells this file, and gives another',
      async () => encoded(NAME, BASE, BASE, Infinity, digestBytes(FILE)),
      'checkpoint.digest',
    ],
    ['is none', async () => Buffer.alloc(300, 7), 'checkpoint.delta'],
    ['has a flipped bit in it', async () => flipped(await encoded(NAME, FILE, BASE), 500), 'checkpoint.delta'],
    ['lacks its end', async () => (await encoded(NAME, FILE, BASE)).subarray(0, -20), 'checkpoint.delta'],
  ])('is refused when the delta %s, and nothing of it is left', async (_, deltaOf, code) => {
    await using fixture = await Fixture.open();
    await fixture.send(digestBytes(BASE), BASE, 'file');
    await expect(fixture.send(digestBytes(FILE), await deltaOf())).rejects.toMatchObject({ kind: 'input', code });
    expect(await fixture.left()).toHaveLength(1);
    expect(await fixture.store.find(digestBytes(FILE))).toBeUndefined();
  });

  it('has the same bounds as one that is sent whole: its size, and its header', async () => {
    await using fixture = await Fixture.open();
    await fixture.send(digestBytes(BASE), BASE, 'file');
    const large = safetensorsFile({ w: before, more: new Uint16Array(MAX_BYTES) });
    await expect(fixture.send(digestBytes(large), await encoded(NAME, large, BASE))).rejects.toMatchObject({
      code: 'checkpoint.too-large',
    });
    const lying = Buffer.concat([FILE, Buffer.alloc(8)]);
    await expect(fixture.send(digestBytes(lying), await encoded('x.bin', lying, BASE))).rejects.toMatchObject({
      code: 'checkpoint.safetensors',
    });
    expect(await fixture.left()).toHaveLength(1);
  });
});

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function flipped(whole: Uint8Array, at: number): Buffer {
  const copy = Buffer.from(whole);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}
