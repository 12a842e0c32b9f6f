import type { CheckpointFile } from './checkpoint.ts';

/** Where sandboxes that are elsewhere fetch the files of stored checkpoints from. */
export interface ContentOrigin {
  /**
   * A URL at which the file can be had for a while, by whoever has it.
   *
   * @throws InputError, InfrastructureError when there is nothing to be had there.
   */
  link(file: CheckpointFile, signal: AbortSignal): Promise<string>;
}
