import { InvalidArgumentError } from 'commander';

/** For a flag that may be given again. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('expected a whole number from 1 on.');
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('expected a number above 0.');
}

export function probability(text: string): number {
  const value = Number(text);
  if (value > 0.5 && value < 1) return value;
  throw new InvalidArgumentError('expected a number between 0.5 and 1.');
}
