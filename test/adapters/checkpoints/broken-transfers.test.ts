import fc from 'fast-check';
import type { IncomingMessage } from 'node:http';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectSource } from '../../../src/adapters/checkpoints/objects/object-source.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import type { CheckpointSource, ListedFile } from '../../../src/policy-distribution/checkpoint-source.ts';
import { CheckpointStore } from '../../../src/policy-distribution/store/checkpoint-store.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import { eventually } from '../../support/eventually.ts';
import { FaultyProxy, type Fault } from '../../support/faulty-proxy.ts';
import type { ObjectServer } from '../../support/object-servers.ts';
import { gcsContext, s3Context, useTestCredentials, type Bucket, type ObjectContext } from '../../support/object-fixture.ts';
import { SkippableClock } from '../../support/skippable-clock.ts';

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());
useTestCredentials();

const signal = new AbortController().signal;
const WEIGHTS = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251));
const NAME = 'run/policy.bin';
const FINE: Fault = { kind: 'none' };

/** A bucket behind a proxy that spoils the answers that a test names. */
class Fixture implements AsyncDisposable {
  readonly clock = new SkippableClock();
  readonly proxy: FaultyProxy;
  readonly bucket: Bucket;
  readonly source: CheckpointSource;

  private constructor(proxy: FaultyProxy, bucket: Bucket) {
    this.proxy = proxy;
    this.bucket = bucket;
    this.source = new ObjectSource(bucket.store, this.clock);
  }

  static async open(context: ObjectContext, server: ObjectServer): Promise<Fixture> {
    const proxy = await FaultyProxy.before(server.url);
    const fixture = new Fixture(proxy, await context.bucket(server, proxy.url));
    await fixture.bucket.put(NAME, WEIGHTS);
    return fixture;
  }

  async listed(): Promise<ListedFile> {
    const [file] = (await this.source.list(this.bucket.uri(NAME), { signal, maxFiles: 10 })).files;
    if (!file) throw new Error('nothing is listed');
    return file;
  }

  /** @param fault of the first answers with the file's bytes, one after the other; those after them are fine. */
  async read(file: ListedFile, ...faults: readonly Fault[]): Promise<Buffer> {
    let answers = 0;
    this.proxy.spoil((request) => (isOfBytes(request) ? (faults[answers++] ?? FINE) : FINE));
    return this.whileTimePasses(Array.fromAsync(this.source.read(file, signal)).then((chunks) => Buffer.concat(chunks)));
  }

  /**
   * Time passes while nothing else does: while it waits to try again, a little at a time, so that a request which this machine is slow to send
   * is not given up; and while it waits for bytes that do not come, all of it.
   */
  async whileTimePasses<Value>(work: Promise<Value>): Promise<Value> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    work.then(settle, settle);
    let quiet = 0;
    let seen = 0;
    await eventually('it is settled', () => {
      quiet = this.clock.pending > 0 && !this.proxy.isBusy && this.proxy.asked.length === seen ? quiet + 1 : 0;
      seen = this.proxy.asked.length;
      if (quiet > 10) this.clock.skip(this.proxy.isStalling ? 61_000 : 1_000);
      return isSettled;
    });
    return work;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bucket[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    expect(this.clock.pending, 'timers that were left').toBe(0);
  }
}

/** And not for what is known of it: the one is asked by alt=media, the other by GET of the name. */
function isOfBytes({ method, url = '' }: IncomingMessage): boolean {
  return (
    method === 'GET' && (url.includes('alt=media') || (url.includes('.bin') && !url.includes('/storage/v1') && !url.includes('list-type')))
  );
}

describe.each([gcsContext, s3Context])('$name', (context) => {
  describe.skipIf(context.missing !== undefined)(`behind a bad connection${context.skipped}`, () => {
    let server: ObjectServer;
    beforeAll(async () => {
      server = await context.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    it('brings every byte once, wherever at each tenth of the way the connection breaks', async () => {
      await using fixture = await Fixture.open(context, server);
      const file = await fixture.listed();
      for (let tenth = 0; tenth < 10; tenth += 1) {
        const after = (WEIGHTS.length * tenth) / 10;
        expect((await fixture.read(file, { kind: 'cut', after })).equals(WEIGHTS), `cut after ${after} bytes`).toBe(true);
        const isResumed = fixture.proxy.asked.some((line) => line.includes('bytes='));
        expect(isResumed, `gone on with by range after ${after} bytes`).toBe(tenth > 0);
      }
    });

    it('brings every byte once when each connection breaks after a tenth', async () => {
      await using fixture = await Fixture.open(context, server);
      const cuts = Array.from({ length: 9 }, () => ({ kind: 'cut', after: WEIGHTS.length / 10 }) as const);
      expect((await fixture.read(await fixture.listed(), ...cuts)).equals(WEIGHTS)).toBe(true);
    });

    it('is not resumed when another version was written meanwhile', async () => {
      await using fixture = await Fixture.open(context, server);
      const file = await fixture.listed();
      await fixture.bucket.put(NAME, WEIGHTS.toReversed());
      await expect(fixture.read(file, { kind: 'cut', after: 1000 })).rejects.toMatchObject({
        code: 'checkpoint.changed',
        address: file.address,
      });
    });

    it('with a bit flipped anywhere is refused by the name of the object, and nothing is kept', async () => {
      await using fixture = await Fixture.open(context, server);
      await using scratch = await ScratchDirectory.make();
      const limits = { maxBytes: 1_000_000, maxFiles: 10 };
      const store = await CheckpointStore.open({ directory: scratch.path, limits, clock: fixture.clock });
      const uri = fixture.bucket.uri(NAME);
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: WEIGHTS.length * 8 - 1 }), async (bit) => {
          fixture.proxy.spoil((request) => (isOfBytes(request) ? { kind: 'flip', bit } : FINE));
          await expect(fixture.whileTimePasses(store.add(fixture.source, uri, signal))).rejects.toMatchObject({
            kind: 'infrastructure',
            code: 'checkpoint.read',
            message: expect.stringContaining(uri),
          });
        }),
        { numRuns: 8, examples: [[0], [WEIGHTS.length * 8 - 1]] },
      );
      expect([...(await readdir(join(scratch.path, 'objects'))), ...(await readdir(join(scratch.path, 'incoming')))]).toEqual([]);
      fixture.proxy.spoil(() => FINE);
      expect((await store.add(fixture.source, uri, signal)).digest).toBe(digestBytes(WEIGHTS));
    });

    it('a connection that stalls is given up after a minute, and resumed', async () => {
      await using fixture = await Fixture.open(context, server);
      expect((await fixture.read(await fixture.listed(), { kind: 'stall', after: 100_000 })).equals(WEIGHTS)).toBe(true);
    });

    it('a connection that never brings a byte is given up after four attempts, with an error', async () => {
      await using fixture = await Fixture.open(context, server);
      const file = await fixture.listed();
      fixture.proxy.spoil((request) => (isOfBytes(request) ? { kind: 'stall', after: 0 } : FINE));
      const failed = fixture.whileTimePasses(Array.fromAsync(fixture.source.read(file, signal)));
      await expect(failed).rejects.toMatchObject({
        kind: 'infrastructure',
        code: 'checkpoint.read',
        message: expect.stringContaining(file.address),
      });
      expect(fixture.proxy.asked).toHaveLength(4);
    });

    it('a store that is busy for a while is retried', async () => {
      await using fixture = await Fixture.open(context, server);
      let times = 0;
      fixture.proxy.spoil(() => (++times <= 3 ? { kind: 'status', status: 503 } : FINE));
      const listing = await fixture.whileTimePasses(fixture.source.list(fixture.bucket.uri('run'), { signal, maxFiles: 10 }));
      expect(listing.files).toMatchObject([{ path: 'policy.bin' }]);
    });
  });
});
