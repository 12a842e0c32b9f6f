import betaQuantileOf from '@stdlib/stats-base-dists-beta-quantile';
import normalQuantileOf from '@stdlib/stats-base-dists-normal-quantile';
import studentQuantileOf from '@stdlib/stats-base-dists-t-quantile';

/** The standard normal deviate with probability `p` below it. @throws RangeError unless 0 < p < 1. */
export function normalQuantile(p: number): number {
  return checked(normalQuantileOf(p, 0, 1), p);
}

/** Student's t with `degreesOfFreedom` > 0. @throws RangeError unless 0 < p < 1. */
export function studentQuantile(p: number, degreesOfFreedom: number): number {
  return checked(studentQuantileOf(p, degreesOfFreedom), p);
}

/** The beta distribution with shapes `alpha` and `beta` > 0. @throws RangeError unless 0 < p < 1. */
export function betaQuantile(p: number, alpha: number, beta: number): number {
  return checked(betaQuantileOf(p, alpha, beta), p);
}

function checked(quantile: number, p: number): number {
  if (p > 0 && p < 1 && Number.isFinite(quantile)) return quantile;
  throw new RangeError(`a quantile needs a probability between 0 and 1 and positive shapes, got probability ${p}`);
}
