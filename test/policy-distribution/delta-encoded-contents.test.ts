import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseDigest, type Digest } from '../../src/kernel/ids.ts';
import type { StoredObject } from '../../src/policy-distribution/files/stored-object.ts';
import { DeltaFile, readIndex } from '../../src/policy-distribution/store/delta-reader.ts';
import { FileStretches } from '../../src/policy-distribution/files/file-stretches.ts';
import { DeltaEncodedContents } from '../../src/policy-distribution/delivery/delta-encoded-contents.ts';
import { safetensorsFile, trained, weights } from './safetensors-file.ts';
import { ScratchDirectory } from './scratch-directory.ts';

/** Files of a store, and their deltas. */
class Fixture implements AsyncDisposable {
  readonly encoded: DeltaEncodedContents;
  readonly #directory: ScratchDirectory;
  readonly #objects = new Map<Digest, StoredObject>();

  private constructor(directory: ScratchDirectory) {
    this.#directory = directory;
    this.encoded = new DeltaEncodedContents({
      directory: this.place,
      clock: systemClock,
      find: async (digest) => this.#objects.get(digest),
    });
  }

  static async open(): Promise<Fixture> {
    return new Fixture(await ScratchDirectory.make());
  }

  get place(): string {
    return join(this.#directory.path, 'deliveries');
  }

  async put(content: Uint8Array): Promise<StoredObject> {
    const digest = parseDigest(`sha256:${createHash('sha256').update(content).digest('hex')}`);
    const object = { digest, size: content.length, hostPath: await this.#directory.put(digest, content) };
    this.#objects.set(digest, object);
    return object;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.encoded[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

const BEFORE = weights(200_000, 1);
const NAME = 'policy.safetensors';

describe('a file that is encoded against another', () => {
  it('is a delta that gives the identical file, made once for all callers', async () => {
    await using fixture = await Fixture.open();
    const [base, file] = [
      await fixture.put(safetensorsFile({ w: BEFORE })),
      await fixture.put(safetensorsFile({ w: trained(BEFORE, 0.01, 2) })),
    ];
    const [encoded, again] = await Promise.all([1, 2].map(() => fixture.encoded.encode(file.digest, NAME, [base.digest])));
    expect(again).toBe(encoded);
    expect(encoded).toMatchObject({ digest: file.digest, base: base.digest });
    expect(encoded?.bytes).toBeLessThan(0.06 * file.size);
    await using delta = await FileStretches.open(encoded?.path ?? '');
    await using before = await FileStretches.open(base.hostPath);
    if (!delta || !before) throw new Error('they are there');
    const hash = createHash('sha256');
    for await (const piece of new DeltaFile(delta, await readIndex(delta, 'a delta'), before).readPieces()) hash.update(piece);
    expect(`sha256:${hash.digest('hex')}`).toBe(file.digest);
  });

  it('is encoded against the first base in the store', async () => {
    await using fixture = await Fixture.open();
    const [base, file] = [
      await fixture.put(safetensorsFile({ w: BEFORE })),
      await fixture.put(safetensorsFile({ w: trained(BEFORE, 0.01, 2) })),
    ];
    const absent = parseDigest(`sha256:${'0'.repeat(64)}`);
    expect(await fixture.encoded.encode(file.digest, NAME, [absent, file.digest, base.digest])).toMatchObject({ base: base.digest });
    expect(await fixture.encoded.encode(file.digest, NAME, [absent])).toBeUndefined();
    expect(await fixture.encoded.encode(absent, NAME, [base.digest])).toBeUndefined();
  });

  it('is not encoded when all numbers differ or the sizes differ', async () => {
    await using fixture = await Fixture.open();
    const base = await fixture.put(safetensorsFile({ w: BEFORE }));
    const other = await fixture.put(safetensorsFile({ w: weights(200_000, 9) }));
    const longer = await fixture.put(safetensorsFile({ w: weights(200_001, 1) }));
    expect(await fixture.encoded.encode(other.digest, NAME, [base.digest])).toBeUndefined();
    expect(await fixture.encoded.encode(longer.digest, NAME, [base.digest])).toBeUndefined();
    expect((await readdir(fixture.place, { recursive: true })).filter((name) => name.includes('.incomplete'))).toEqual([]);
  });

  it('is cached with the last few, and removed with its process', async () => {
    await using fixture = await Fixture.open();
    const base = await fixture.put(safetensorsFile({ w: BEFORE }));
    let last: string | undefined;
    for (let i = 0; i < 12; i += 1) {
      const file = await fixture.put(safetensorsFile({ w: trained(BEFORE, 0.001, i + 2) }));
      last = (await fixture.encoded.encode(file.digest, NAME, [base.digest]))?.path;
    }
    const [own = ''] = await readdir(fixture.place);
    expect((await readFile(last ?? '')).length).toBeGreaterThan(0);
    expect((await readdir(join(fixture.place, own))).length).toBeLessThanOrEqual(9);
    await fixture.encoded[Symbol.asyncDispose]();
    expect(await readdir(fixture.place)).toEqual([]);
  });
});
