import type { UsageLedger } from '../../evaluation-store/usage-ledger.ts';
import type { Digest } from '../../kernel/ids.ts';
import { changesFormat } from '../../policy-distribution/checkpoint.ts';
import type { CheckpointStore } from '../../policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { Uploaded, UploadContent, UploadPart, Uploads } from '../../policy-distribution/uploads/uploads.ts';
import type { CheckpointUse } from './checkpoint-use.ts';
import type { QuotaGate } from '../acceptance/quota-gate.ts';

export interface CheckpointServiceOptions {
  readonly checkpoints: CheckpointStore;
  readonly uploads: Uploads;
  readonly usage: UsageLedger;
  readonly gate: QuotaGate;
  readonly use: CheckpointUse;
}

/** Receives uploads of checkpoints, and tells which are stored. */
export class CheckpointService {
  readonly #options: CheckpointServiceOptions;

  constructor(options: CheckpointServiceOptions) {
    this.#options = options;
  }

  /**
   * Returns undefined when it is not stored, or not completely, or not for this principal. Counts as a use.
   *
   * @param name under which the principal would send it: it has to be sent again for another format, which is then checked.
   */
  async find(digest: Digest, principal: string, name?: string): Promise<StoredCheckpoint | undefined> {
    const { use, checkpoints } = this.#options;
    const usable = await use.find(principal, digest);
    const found = usable && (await checkpoints.find(digest, usable.name));
    const [file] = found?.kind === 'file' ? found.files : [];
    if (file && name !== undefined && changesFormat(file.path, name)) return undefined;
    return usable?.kind === undefined || usable.kind === found?.kind ? found : undefined;
  }

  /** Counts the received bytes of a principal's upload. */
  countReceived(digest: Digest, principal: string, kind: UploadContent['kind']): Promise<number> {
    return this.#options.uploads.countReceived(digest, principal, kind);
  }

  /**
   * Receives a part of an upload. A principal that has sent a whole checkpoint may use it from then on, and is charged for it until its bytes are
   * gone; a directory has no more bytes than the files that were sent for it.
   *
   * @throws QuotaError, and as `Uploads.append` does.
   */
  async receive(part: Omit<UploadPart, 'usable'>, signal: AbortSignal): Promise<Uploaded> {
    const { uploads, usage, gate, use } = this.#options;
    const { digest, uploader, size, content } = part;
    const missing = Math.max(0, size - (await uploads.countReceived(digest, uploader, content.kind)));
    using _room = await gate.upload(uploader, digest, missing, () => uploads.sumPendingBytes(uploader));
    const uploaded = await uploads.append({ ...part, usable: (digests) => use.findUsableFiles(uploader, digests) }, signal);
    // The file's own size, even when it came as a delta: it may have to be stored whole.
    const [file] = uploaded.kind === 'stored' && content.kind !== 'manifest' ? uploaded.checkpoint.files : [];
    if (file) await usage.chargeCheckpoint(uploader, digest, file.size);
    if (uploaded.kind === 'stored') await use.bring(uploader, [uploaded.checkpoint]);
    return uploaded;
  }
}
