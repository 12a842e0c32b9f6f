import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/kernel/clock.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { Uploads } from '../../src/policy-distribution/uploads/uploads.ts';
import type { UsableFiles } from '../../src/policy-distribution/files/usable-files.ts';
import { CheckpointService } from '../../src/service/checkpoints/checkpoint-service.ts';
import type { QuotaGate } from '../../src/service/acceptance/quota-gate.ts';
import { ServiceFixture } from './service-fixture.ts';

const DAY_MS = 86_400_000;

/** A checkpoint store with its uploads, on a directory of its own. */
export class UploadFixture implements AsyncDisposable {
  readonly checkpoints: CheckpointStore;
  readonly uploads: Uploads;
  readonly #directory: string;

  private constructor(directory: string, checkpoints: CheckpointStore, uploads: Uploads) {
    this.#directory = directory;
    this.checkpoints = checkpoints;
    this.uploads = uploads;
  }

  static async open(clock: Clock = new ServiceFixture().clock, maxBytes = 10 * 2 ** 20): Promise<UploadFixture> {
    const directory = await mkdtemp(join(tmpdir(), 'muster-test-'));
    const limits = { maxBytes, maxFiles: 100 };
    const checkpoints = await CheckpointStore.open({ directory: join(directory, 'store'), limits, clock });
    const uploads = await Uploads.open(join(directory, 'uploads'), checkpoints, { maxBytes, unfinishedMs: DAY_MS }, clock);
    return new UploadFixture(directory, checkpoints, uploads);
  }

  checkpointService(
    { store, ...fixture }: Pick<ServiceFixture, 'store' | 'use'>,
    gate: QuotaGate = new ServiceFixture().gate(),
  ): CheckpointService {
    return new CheckpointService({ checkpoints: this.checkpoints, uploads: this.uploads, usage: store.usage, gate, use: fixture.use });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.uploads[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** For uploads of a principal without a quota. */
export const EVERYTHING: UsableFiles = async (digests) => new Set(digests);

/** SHA-256 in hexadecimal digits. */
export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
