import type { Digest } from '../kernel/ids.ts';

/** How much each principal uses of shared resources, as far as it outlasts a process. */
export interface UsageLedger {
  /** Counts the principal's evaluations that wait for an owner. */
  countWaiting(principal: string): Promise<number>;

  /**
   * Counts the episodes that were stored for the principal since the beginning of the hour of `since`. Excludes episodes that were adopted from
   * others and those of forgotten evaluations; an episode that was appended twice counts twice.
   */
  countEpisodesSince(principal: string, since: Date): Promise<number>;

  /** Sums the bytes of the checkpoints that are charged to the principal. */
  sumCheckpointBytes(principal: string): Promise<number>;

  /** Charges a checkpoint to a principal. Repeating the charge has no effect. */
  chargeCheckpoint(principal: string, checkpoint: Digest, bytes: number): Promise<void>;

  /** Ends the charges of a checkpoint that was removed, for all principals. */
  creditCheckpoint(checkpoint: Digest): Promise<void>;
}
