import type { Checkpoint, CheckpointFile } from './checkpoint.ts';

/** A checkpoint of which every file lies on this machine, verified. */
export interface StoredCheckpoint extends Checkpoint {
  readonly files: readonly StoredFile[];
}

export interface StoredFile extends CheckpointFile {
  /** Absolute path of the one read-only copy; sandboxes link or mount it. */
  readonly hostPath: string;
}
