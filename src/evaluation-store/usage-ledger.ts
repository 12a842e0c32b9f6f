import type { Digest } from '../kernel/ids.ts';

/** What principals use of what they share, as far as it outlasts a process. */
export interface UsageLedger {
  /** Evaluations of the principal that wait for an owner. */
  countWaiting(principal: string): Promise<number>;

  /**
   * Episodes that were stored for the principal since the beginning of the hour that `since` lies in. Those that were taken from others are
   * not counted, and neither are those of evaluations that are forgotten; what was appended twice is counted twice.
   */
  countEpisodesSince(principal: string, since: Date): Promise<number>;

  /** Bytes of the checkpoints that are charged to the principal. */
  sumCheckpointBytes(principal: string): Promise<number>;

  /** However often it is charged to a principal, it counts once for each. */
  chargeCheckpoint(principal: string, checkpoint: Digest, bytes: number): Promise<void>;

  /** It is gone, for all who were charged. */
  creditCheckpoint(checkpoint: Digest): Promise<void>;
}
