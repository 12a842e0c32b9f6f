import type { Checkpoint, CheckpointFile } from './checkpoint.ts';

/** A checkpoint of which every file lies on this machine, verified. */
export interface StoredCheckpoint extends Checkpoint {
  readonly files: readonly StoredFile[];
}

export interface StoredFile extends CheckpointFile {
  /** Absolute path of the one read-only copy; sandboxes link or mount it. */
  readonly hostPath: string;
}

/** Returns the checkpoint without the places of its files on this machine, for the record. */
export function toIdentity({ digest, kind, labels, files }: StoredCheckpoint): Checkpoint {
  return { digest, kind, labels, files: files.map(({ path, size, digest: ofFile }) => ({ path, size, digest: ofFile })) };
}
