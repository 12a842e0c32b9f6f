export interface RangeSituation {
  /** Blocks that may be dispatched now; without batching, a block is one episode. */
  readonly available: number;
  /** Sandboxes that share them. */
  readonly sandboxes: number;
  /** Time of one block, measured and smoothed; undefined before the first outcome. */
  readonly blockMilliseconds: number | undefined;
  /** How long a range should keep a runner busy. */
  readonly rangeMilliseconds: number;
  /** Ranges that this runner has been sent and has not finished. */
  readonly outstanding: number;
  /** The largest number of blocks in one range. */
  readonly most: number;
}

/**
 * Chooses how many blocks to send to a runner that asks for work (guided self-scheduling): enough to fill `rangeMilliseconds`, but never more than a
 * fair share of the rest. So ranges shrink to single blocks at the end, and no runner has many left while others idle. Nothing is sent ahead once
 * there is at most one block a sandbox.
 */
export function chooseRangeSize(situation: RangeSituation): number {
  const { available, sandboxes, outstanding, most } = situation;
  if (available <= 0) return 0;
  if (outstanding > 0 && available <= sandboxes) return 0;
  if (situation.blockMilliseconds === undefined) return 1;
  const byTime = Math.floor(situation.rangeMilliseconds / Math.max(situation.blockMilliseconds, 1e-3));
  const fairShare = Math.ceil(available / sandboxes);
  return Math.max(1, Math.min(byTime, fairShare, most, available));
}
