import { InputError } from '../kernel/errors.ts';

/** The lowest and the highest return that an episode can have, as the suite declares them. Both finite, low < high. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** @throws InputError when the bounds are not finite or not in order. */
export function assertBounds(bounds: Bounds): void {
  const range = bounds.high - bounds.low;
  if (range > 0 && Number.isFinite(range)) return;
  throw new InputError(
    'bounds.invalid',
    `reward.bounds: expected two finite numbers, the lowest first, got [${bounds.low}, ${bounds.high}]; declare the lowest and highest possible return`,
  );
}

/** Position of a return between the bounds, in [0, 1]; rounding cannot push it out. */
export function toUnit(value: number, bounds: Bounds): number {
  return clampUnit((value - bounds.low) / (bounds.high - bounds.low));
}

/** Inverse of `toUnit`; 0 and 1 give the bounds themselves. */
export function fromUnit(unit: number, bounds: Bounds): number {
  if (unit <= 0) return bounds.low;
  if (unit >= 1) return bounds.high;
  return bounds.low + unit * (bounds.high - bounds.low);
}

export function clampUnit(unit: number): number {
  return unit < 0 ? 0 : unit > 1 ? 1 : unit;
}
