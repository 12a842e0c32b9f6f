import type { Bounds } from './bounds.ts';
import type { WorstCase } from './statistics.ts';

/**
 * Mean over all episodes if every unresolved one had the lowest return, and if it had the highest. Undefined without episodes, and where no bounds limit
 * what unresolved ones could have returned.
 *
 * @param mean over the resolved ones; undefined while there are none.
 */
export function worstCase(
  mean: number | undefined,
  resolved: number,
  unresolved: number,
  bounds: Bounds | undefined,
): WorstCase | undefined {
  if (unresolved === 0) return mean === undefined ? undefined : { low: mean, high: mean };
  if (bounds === undefined) return undefined;
  const share = unresolved / (resolved + unresolved);
  const withAll = (bound: number): number => (mean === undefined ? bound : mean + share * (bound - mean));
  return { low: withAll(bounds.low), high: withAll(bounds.high) };
}
