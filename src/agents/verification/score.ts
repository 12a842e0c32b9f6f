import type { ScoreTerms } from '../tasks/muster-schema.ts';
import type { VerdictComponent } from './verdict.ts';

/** Measured figures of a correct submission; undefined where the task does not request them. */
export interface MeasuredScores {
  readonly speed: number | undefined;
  readonly efficiency: number | undefined;
}

export interface Scores extends MeasuredScores {
  /** 0 … 1 */
  readonly correctness: number;
}

/**
 * Computes `clamp(log(ratio / r₀) / log(r₁ / r₀))`, in [0, 1].
 *
 * @param ratio golden ÷ candidate: above 1 the candidate is better.
 */
export function scoreRatio(ratio: number, { r0, r1 }: { readonly r0: number; readonly r1: number }): number {
  if (!(ratio > 0)) return 0;
  return clamp(Math.log(ratio / r0) / Math.log(r1 / r0));
}

/**
 * Returns correctness, speed and efficiency with their weights. Shaping counts only for a submission that is correct throughout, so it can never
 * make up for a case that fails.
 */
export function weighComponents(
  { weights }: Pick<ScoreTerms, 'weights'>,
  { correctness, speed, efficiency }: Scores,
): readonly VerdictComponent[] {
  const computeShaping = (score: number | undefined): number | null => (correctness === 1 && score !== undefined ? clamp(score) : null);
  const components: readonly VerdictComponent[] = [
    { name: 'correctness', weight: weights.correctness, score: clamp(correctness) },
    { name: 'speed', weight: weights.speed, score: computeShaping(speed) },
    { name: 'efficiency', weight: weights.efficiency, score: computeShaping(efficiency) },
  ];
  return components.filter(({ name, weight }) => weight > 0 || name === 'correctness');
}

/** Computes `gate · Σ wₖ·sₖ ÷ Σ wₖ`. Dividing by the sum of the weights makes it exactly 1 when every score is 1, despite rounding. */
export function computeReward(gate: 0 | 1, components: readonly VerdictComponent[]): number {
  const weights = components.reduce((sum, { weight }) => sum + weight, 0);
  const scored = components.reduce((sum, { weight, score }) => sum + weight * (score ?? 0), 0);
  return weights > 0 ? clamp((gate * scored) / weights) : 0;
}

/** NaN becomes 0: a score is never better for being undefined. */
function clamp(score: number): number {
  return score > 0 ? Math.min(1, score) : 0;
}
