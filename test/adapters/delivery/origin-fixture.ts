import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { OriginServer, type OriginOptions } from '../../../src/adapters/delivery/origin-server.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { parseDigest, type Digest } from '../../../src/kernel/ids.ts';
import { silentLog } from '../../../src/kernel/log.ts';
import type { CheckpointFile } from '../../../src/policy-distribution/checkpoint.ts';
import type { StoredObject } from '../../../src/policy-distribution/files/stored-object.ts';
import { DeltaEncodedContents } from '../../../src/policy-distribution/delivery/delta-encoded-contents.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** An origin on this machine, with files that a test gives it. */
export class OriginFixture implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly origin: OriginServer;
  readonly #directory: ScratchDirectory;
  readonly #files = new Map<Digest, string>();
  readonly #encoded: DeltaEncodedContents;

  private constructor(directory: ScratchDirectory, options: Partial<OriginOptions>) {
    this.#directory = directory;
    const find = async (digest: Digest): Promise<StoredObject | undefined> => {
      const hostPath = this.#files.get(digest);
      return hostPath === undefined ? undefined : { digest, hostPath, size: (await stat(hostPath)).size };
    };
    this.#encoded = new DeltaEncodedContents({ directory: `${directory.path}/deliveries`, clock: systemClock, find });
    this.origin = new OriginServer({
      url: 'http://127.0.0.1',
      host: '127.0.0.1',
      port: 0,
      linkSeconds: 60,
      transfers: 4,
      clock: this.clock,
      log: silentLog,
      find,
      encode: ({ digest, name }, bases) => this.#encoded.encode(digest, name, bases),
      ...options,
    });
  }

  static async open(options: Partial<OriginOptions> = {}): Promise<OriginFixture> {
    return new OriginFixture(await ScratchDirectory.make(), options);
  }

  async put(path: string, content: string | Uint8Array): Promise<CheckpointFile> {
    const digest = parseDigest(`sha256:${createHash('sha256').update(content).digest('hex')}`);
    this.#files.set(digest, await this.#directory.put(`${digest}/${path}`, content));
    return { path, digest, size: Buffer.byteLength(content) };
  }

  forget({ digest }: CheckpointFile): void {
    this.#files.delete(digest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.origin[Symbol.asyncDispose]();
    await this.#encoded[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}
