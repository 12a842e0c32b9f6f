/** Repeated measurements of one figure: the median is robust against a noisy machine, the range shows how noisy it was. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** @throws RangeError when there is no measurement. */
export function spreadOf(measurements: readonly number[]): Spread {
  const sorted = measurements.toSorted((a, b) => a - b);
  const low = sorted[0];
  const high = sorted.at(-1);
  const below = sorted[Math.floor((sorted.length - 1) / 2)];
  const above = sorted[Math.ceil((sorted.length - 1) / 2)];
  if (low === undefined || high === undefined || below === undefined || above === undefined)
    throw new RangeError('expected at least one measurement');
  return { median: (below + above) / 2, low, high };
}

/** "1.23 (1.10–1.31)" */
export function showSpread({ median, low, high }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}
