import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import type { Moments } from '../intervals/moments.ts';
import type { StoppingRule } from '../stopping/stopping-rule.ts';

/**
 * The mean at the stop of a rule, less the bias that the stop gives it; undefined without a value.
 *
 * For a number of episodes N that the returns decide, Wald's identity E Σ(xᵢ − μ) = 0 says that the mean is off by −Cov(N, x̄)/E N. A rule that aims at a
 * half-width takes N = κ·(z·s/h)² episodes where the spread alone decides, so N varies with s², and s² with the mean where returns are skewed:
 * Cov(s², x̄) = μ₃/n. That makes the bias −μ₃/(σ²·n): good policies, with rare bad returns, seem better than they are. Bounds that are near and
 * limits on bets make N larger than that; then the bias counts as far as the spread does, by the share κ·(z·s/h)²/n. The coverage study shows what is left of it.
 *
 * @param values of which the mean is taken.
 */
export function computeBiasReducedMean(
  values: Moments,
  rule: Pick<StoppingRule, 'targetHalfWidth' | 'priceOfSpread' | 'confidence'>,
): number | undefined {
  const { count, mean, variance, sumOfSquares, sumOfCubes } = values;
  const { targetHalfWidth, priceOfSpread, confidence } = rule;
  if (mean === undefined || variance === undefined || variance === 0) return mean;
  if (targetHalfWidth === undefined || priceOfSpread === undefined) return mean;
  const bySpread = (priceOfSpread * computeNormalQuantile((1 + confidence) / 2) ** 2 * variance) / targetHalfWidth ** 2;
  const share = Math.min(1, bySpread / count);
  return mean + (share * sumOfCubes) / sumOfSquares / count;
}
