import type { Digest } from '../../kernel/ids.ts';
import type { LinkedFile } from '../../kernel/fetching.ts';
import type { CheckpointFile } from '../checkpoint.ts';

/** Remote sandboxes fetch the files of stored checkpoints from it. */
export interface ContentOrigin {
  /** @param checkpoint that the file belongs to. @throws InputError, InfrastructureError when it cannot be fetched from there. */
  link(file: CheckpointFile, checkpoint: Digest, signal: AbortSignal): Promise<FileLinks>;
}

/** URLs from which a file can be fetched for a limited time. Each is a secret. */
export type FileLinks = Pick<LinkedFile, 'url' | 'bucketUrl'>;
