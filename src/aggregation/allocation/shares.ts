/** Computes each weight's part of their sum. @throws RangeError when there is no weight, or one that is not positive and finite. */
export function computeShares(weights: readonly number[]): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0 && Number.isFinite(total) && weights.every((weight) => weight > 0)))
    throw new RangeError('expected at least one task, each with a positive weight');
  return weights.map((weight) => weight / total);
}
