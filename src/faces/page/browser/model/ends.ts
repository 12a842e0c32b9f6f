/** Returns the interval as it is drawn; around the estimate where its ends were not stored. Returns undefined while there is none. */
export function getEnds(
  estimate: number | null,
  { low, high, halfWidth }: { readonly low?: number | null; readonly high?: number | null; readonly halfWidth: number | null },
): readonly [low: number, high: number] | undefined {
  if (typeof low === 'number' && typeof high === 'number') return [low, high];
  return estimate === null || halfWidth === null ? undefined : [estimate - halfWidth, estimate + halfWidth];
}
