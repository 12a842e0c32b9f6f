import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import type { Certainty } from './statistics.ts';

/**
 * Computes the cost of not knowing the variance beforehand: the number of episodes beyond the max(2, ⌈(z·s/h)²⌉) that a normal interval with the
 * given deviation s would have needed for the half-width h. Returns undefined where floating point cannot count them.
 */
export function computeCertainty(episodes: number, deviation: number, halfWidth: number, confidence: number): Certainty | undefined {
  const needed = Math.max(2, Math.ceil(((computeNormalQuantile((1 + confidence) / 2) * deviation) / halfWidth) ** 2));
  return Number.isSafeInteger(needed) ? { knownVarianceEpisodes: needed, extraEpisodes: episodes - needed } : undefined;
}
