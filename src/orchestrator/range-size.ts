import { MAX_RANGE_EPISODES } from '../runner/frames.ts';

export interface RangeSituation {
  /** Episodes that may be dispatched now. */
  readonly available: number;
  /** Sandboxes that share them. */
  readonly sandboxes: number;
  /** Measured, smoothed; undefined before the first outcome. */
  readonly episodeMilliseconds: number | undefined;
  /** How long a range should keep a runner busy. */
  readonly rangeMilliseconds: number;
  /** Ranges that this runner has already been sent and has not finished. */
  readonly outstanding: number;
}

/**
 * How many episodes to send to a runner that asks for work (guided self-scheduling): enough to fill `rangeMilliseconds`,
 * never more than a fair share of what is left, so that ranges shrink to single episodes at the tail and no runner is left
 * with a heap while others idle. Nothing is sent ahead once there is no more than one episode a sandbox.
 */
export function rangeSize(situation: RangeSituation): number {
  const { available, sandboxes, outstanding } = situation;
  if (available <= 0) return 0;
  if (outstanding > 0 && available <= sandboxes) return 0;
  if (situation.episodeMilliseconds === undefined) return 1;
  const byTime = Math.floor(situation.rangeMilliseconds / Math.max(situation.episodeMilliseconds, 1e-3));
  const fairShare = Math.ceil(available / sandboxes);
  return Math.max(1, Math.min(byTime, fairShare, MAX_RANGE_EPISODES, available));
}
