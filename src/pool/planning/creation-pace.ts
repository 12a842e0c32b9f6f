import { backoffMs } from './backoff.ts';

/**
 * How fast creations may go after the provider's service has refused some. Additive increase, multiplicative decrease: many pools that
 * share an account settle at fair shares of what it allows, without speaking to each other (Chiu and Jain 1989).
 */
export interface CreationPace {
  /** Infinite while nothing was refused: the configuration's rate alone holds. */
  readonly perSecond: number;
  /** Nothing is created before. */
  readonly pausedUntil: number;
  /** Since the last creation that went through. */
  readonly refusals: number;
}

export const FREE_PACE: CreationPace = { perSecond: Infinity, pausedUntil: -Infinity, refusals: 0 };

/** Never slower than this, or a pool that was refused for long would take minutes to notice that it is welcome again. */
export const SLOWEST_PER_SECOND = 0.1;
/** What each creation that goes through adds: from half of five a second, two dozen creations lead back to five. */
const STEP_PER_SECOND = 0.1;

/** @param perSecond what the configuration allows. @param retryAfterMs what the service asked for. */
export function slowDown(pace: CreationPace, perSecond: number, now: number, retryAfterMs = 0): CreationPace {
  const refusals = pace.refusals + 1;
  return {
    perSecond: Math.min(perSecond, Math.max(SLOWEST_PER_SECOND, Math.min(perSecond, pace.perSecond) / 2)),
    pausedUntil: Math.max(pace.pausedUntil, now + Math.max(retryAfterMs, backoffMs(refusals))),
    refusals,
  };
}

/** After a creation that went through. */
export function speedUp(pace: CreationPace, perSecond: number): CreationPace {
  const faster = pace.perSecond + STEP_PER_SECOND;
  return { ...pace, perSecond: faster >= perSecond ? Infinity : faster, refusals: 0 };
}
