import { InputError } from '../../kernel/errors.ts';

/** The lowest and the highest return that an episode can have, as the suite declares them; `assertBounds` says which are valid. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Squares and cubes of values in such a range, and sums of a billion of them, stay well within floating point. */
const SMALLEST_RANGE = 1e-60;
const LARGEST_RANGE = 1e60;
/**
 * The narrowest range as a share of the bound that is further from 0. Returns in a narrower one, and their interval, keep fewer than 22
 * bits.
 */
const FINEST_RANGE = 1e-9;

/** @throws InputError when the bounds are not finite or not in order, or when floating point cannot hold squared deviations of returns between them. */
export function assertBounds(bounds: Bounds): void {
  const range = bounds.high - bounds.low;
  const declared = `[${bounds.low}, ${bounds.high}]`;
  if (!(range > 0 && Number.isFinite(range)))
    throw createInvalidError(
      `expected two finite numbers, the lowest first, got ${declared}; declare the lowest and highest possible return`,
    );
  if (range < SMALLEST_RANGE || range > LARGEST_RANGE)
    throw createInvalidError(
      `expected bounds from ${SMALLEST_RANGE} to ${LARGEST_RANGE} apart, got ${declared}: floating point cannot hold squares of such returns; let the environment give rewards in another unit`,
    );
  const furthest = Math.max(Math.abs(bounds.low), Math.abs(bounds.high));
  if (range < FINEST_RANGE * furthest)
    throw createInvalidError(
      `expected bounds at least ${FINEST_RANGE} of the larger of them apart, got ${declared}: floating point cannot tell such returns apart; let the environment subtract what they have in common`,
    );
}

function createInvalidError(message: string): InputError {
  return new InputError('bounds.invalid', `reward.bounds: ${message}`);
}

/** Returns the position of a return between the bounds, kept in [0, 1] despite rounding. */
export function toUnit(value: number, bounds: Bounds): number {
  return clampToUnit((value - bounds.low) / (bounds.high - bounds.low));
}

/** Inverts `toUnit`; 0 and 1 give the bounds themselves. */
export function scaleFromUnit(unit: number, bounds: Bounds): number {
  if (unit <= 0) return bounds.low;
  if (unit >= 1) return bounds.high;
  return bounds.low + unit * (bounds.high - bounds.low);
}

export function clampToUnit(unit: number): number {
  return unit < 0 ? 0 : unit > 1 ? 1 : unit;
}
