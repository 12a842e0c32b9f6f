export interface RangeSituation {
  /** Blocks that may be dispatched now; without batching each episode is one. */
  readonly available: number;
  /** Sandboxes that share them. */
  readonly sandboxes: number;
  /** Of one block: measured, smoothed; undefined before the first outcome. */
  readonly blockMilliseconds: number | undefined;
  /** How long a range should keep a runner busy. */
  readonly rangeMilliseconds: number;
  /** Ranges that this runner has already been sent and has not finished. */
  readonly outstanding: number;
  /** Most blocks that may travel together. */
  readonly most: number;
}

/**
 * How many blocks to send to a runner that asks for work (guided self-scheduling): enough to fill `rangeMilliseconds`,
 * never more than a fair share of what is left, so that ranges shrink to single blocks at the tail and no runner is left
 * with a heap while others idle. Nothing is sent ahead once there is no more than one block a sandbox.
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
