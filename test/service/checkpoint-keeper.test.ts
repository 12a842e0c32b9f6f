import { describe, expect, it } from 'vitest';
import { parseDigest, type Digest } from '../../src/kernel/ids.ts';
import type { CheckpointService } from '../../src/service/checkpoints/checkpoint-service.ts';
import { createCheckpointKeeper } from '../../src/service/checkpoints/checkpoint-keeper.ts';
import type { Chore } from '../../src/kernel/chore.ts';
import type { Library } from '../../src/service/orders/library.ts';
import { eventually } from '../support/eventually.ts';
import { PAPER_LIBRARY, ServiceFixture, submission, submitted } from '../support/service-fixture.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { EVERYTHING, sha256, UploadFixture } from '../support/upload-fixture.ts';

const HOUR = 3_600_000;
const { signal } = new AbortController();

function partOf(letters: string): Parameters<CheckpointService['receive']>[0] {
  const digest = parseDigest(`sha256:${sha256(letters)}`);
  const content = { kind: 'file', name: 'policy.bin' } as const;
  return { digest, uploader: 'pipeline', content, offset: 0, size: letters.length, bytes: pieces(letters) };
}

async function* pieces(letters: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(letters);
}

/** As a caller brings it. */
async function brought(fixture: Fixture, letters: string): Promise<Digest> {
  const part = partOf(letters);
  await fixture.files.checkpointService(fixture, fixture.gate()).receive(part, signal);
  return part.digest;
}

class Fixture extends ServiceFixture implements AsyncDisposable {
  /** That of files, which have the machine's time. */
  readonly files: UploadFixture;
  readonly time: SkippableClock;
  /** By streams of rollouts. */
  readonly alsoNeeded: Digest[] = [];

  private constructor(files: UploadFixture, time: SkippableClock) {
    super();
    this.files = files;
    this.time = time;
  }

  static async open(): Promise<Fixture> {
    const time = new SkippableClock();
    return new Fixture(await UploadFixture.open(time), time);
  }

  keeper(maxBytes: number | undefined): Chore {
    const { checkpoints, uploads } = this.files;
    return createCheckpointKeeper({
      store: this.store,
      checkpoints,
      uploads,
      alsoNeeded: async () => this.alsoNeeded,
      clock: this.time,
      log: this.log,
      maxBytes: () => maxBytes,
    });
  }

  /** What it does at its beginning, it does every hour. */
  async kept(maxBytes: number | undefined): Promise<void> {
    const keeper = this.keeper(maxBytes);
    keeper.open();
    await keeper.close();
  }

  async has(digest: Digest): Promise<boolean> {
    return (await this.files.checkpoints.find(digest)) !== undefined;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.files[Symbol.asyncDispose]();
    expect(this.time.pending, 'timers that were left').toBe(0);
    expect(this.warnings).toEqual([]);
  }
}

describe('the checkpoints of a server', () => {
  it('that were unused for long are deleted, and are no longer charged', async () => {
    await using fixture = await Fixture.open();
    const old = await brought(fixture, 'a'.repeat(100));
    fixture.time.skip(2 * HOUR);
    const recent = await brought(fixture, 'b'.repeat(100));
    expect(await fixture.store.usage.sumCheckpointBytes('pipeline')).toBe(200);
    await fixture.kept(150);
    expect([await fixture.has(old), await fixture.has(recent)]).toEqual([false, true]);
    expect(await fixture.store.usage.sumCheckpointBytes('pipeline')).toBe(100);
  });

  it('stay while an evaluation or a stream needs them, and without a bound', async () => {
    await using fixture = await Fixture.open();
    const wanted = await brought(fixture, 'a'.repeat(100));
    const checkpoint: Library['orderCheckpoint'] = async (reference) => ({
      ...(await PAPER_LIBRARY.orderCheckpoint(reference, 'pipeline', signal)),
      digest: wanted,
    });
    const service = fixture.service({}, { library: { ...PAPER_LIBRARY, orderCheckpoint: checkpoint } });
    const id = await submitted(service, submission(5));
    fixture.time.skip(3 * HOUR);
    await fixture.kept(1);
    expect(await fixture.has(wanted)).toBe(true);
    await service.cancel(id);
    fixture.time.skip(3 * HOUR);
    await fixture.kept(undefined);
    expect(await fixture.has(wanted)).toBe(true);
    fixture.alsoNeeded.push(wanted);
    fixture.time.skip(3 * HOUR);
    await fixture.kept(1);
    expect(await fixture.has(wanted)).toBe(true);
    fixture.alsoNeeded.pop();
    fixture.time.skip(3 * HOUR);
    await fixture.kept(1);
    expect(await fixture.has(wanted)).toBe(false);
  });

  it('that were abandoned in part are removed within an hour of their time', async () => {
    await using fixture = await Fixture.open();
    const { uploads } = fixture.files;
    const part = { ...partOf('whole'), bytes: pieces('who'), usable: EVERYTHING };
    await uploads.append(part, signal);
    const keeper = fixture.keeper(undefined);
    keeper.open();
    await eventually('it has looked for the first time', () => fixture.time.pending === 1);
    expect(await uploads.countReceived(part.digest, 'pipeline')).toBe(3);
    fixture.time.skip(25 * HOUR);
    await eventually('it has looked again', async () => (await uploads.countReceived(part.digest, 'pipeline')) === 0);
    await keeper.close();
  });
});
