import type { UsageLedger } from '../evaluation-store/usage-ledger.ts';
import type { Digest } from '../kernel/ids.ts';
import type { CheckpointStore } from '../policy-distribution/checkpoint-store.ts';
import type { StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import type { Uploaded, UploadContent, UploadPart, Uploads } from '../policy-distribution/uploads.ts';
import type { QuotaGate } from './quota-gate.ts';

export interface CheckpointDeskOptions {
  readonly checkpoints: CheckpointStore;
  readonly uploads: Uploads;
  readonly usage: UsageLedger;
  readonly gate: QuotaGate;
}

/** Where callers bring checkpoints, and ask which are here. */
export class CheckpointDesk {
  readonly #options: CheckpointDeskOptions;

  constructor(options: CheckpointDeskOptions) {
    this.#options = options;
  }

  /** Undefined when it is not here, or not all of it. It counts as used. */
  find(digest: Digest): Promise<StoredCheckpoint | undefined> {
    return this.#options.checkpoints.find(digest);
  }

  /** Bytes that have come of a principal's upload. */
  received(digest: Digest, principal: string, kind: UploadContent['kind']): Promise<number> {
    return this.#options.uploads.received(digest, principal, kind);
  }

  /**
   * Takes a stretch of an upload in. A checkpoint that has come whole is charged to who sent it, until its bytes are gone; a directory has
   * no more bytes than the files that were sent for it.
   *
   * @throws QuotaError, and as `Uploads.append` does.
   */
  async receive(part: UploadPart, signal: AbortSignal): Promise<Uploaded> {
    const { uploads, usage, gate } = this.#options;
    const { digest, uploader, size, content } = part;
    const missing = Math.max(0, size - (await uploads.received(digest, uploader, content.kind)));
    using _room = await gate.upload(uploader, digest, missing, () => uploads.pendingBytes(uploader));
    const uploaded = await uploads.append(part, signal);
    // The file's own size, also when a delta has told it: it may have to be kept as it is.
    const [file] = uploaded.kind === 'stored' && content.kind !== 'manifest' ? uploaded.checkpoint.files : [];
    if (file) await usage.chargeCheckpoint(uploader, digest, file.size);
    return uploaded;
  }
}
