import { computeNormalQuantile } from '../intervals/distribution-quantiles.ts';
import type { Moments } from '../intervals/moments.ts';
import type { StoppingRule } from '../stopping/stopping-rule.ts';

/**
 * Computes the mean after a rule stopped, less the bias of the stop; undefined without a value.
 *
 * When the returns decide the number of episodes N, Wald's identity E Σ(xᵢ − μ) = 0 says that the mean is off by −Cov(N, x̄)/E N. A rule with a
 * half-width h takes N = κ·(z·s/h)² episodes where the spread alone decides, so N varies with s², and s² with the mean where returns are skewed:
 * Cov(s², x̄) = μ₃/n. That makes the bias −μ₃/(σ²·n): good policies, with rare bad returns, look better than they are. Near bounds and limits on bets
 * make N larger than that; then the bias counts by the share κ·(z·s/h)²/n that the spread contributes. The coverage study shows what remains of it.
 *
 * @param values whose mean is computed.
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
