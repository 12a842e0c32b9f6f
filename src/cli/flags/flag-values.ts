import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { describeInvalid } from '../../kernel/documents/problems.ts';
import { findConfidenceProblem } from '../../aggregation/intervals/confidence.ts';

/** Describes, as a sentence, what is wrong with the JSON that a flag or an argument has. */
export function describeInvalidJson(error: z.ZodError, value: unknown, schema: z.ZodType): string {
  const text = describeInvalid(error, value, schema);
  return text.endsWith('?') ? text : `${text}.`;
}

/** Collects the values of a flag that may be repeated. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('expected a whole number from 1 on.');
}

export function parseWholeNumberFromZero(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError('expected a whole number from 0 on.');
}

export function parsePositiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('expected a number above 0.');
}

export function parseProbability(text: string): number {
  const value = Number(text);
  if (findConfidenceProblem(value) === undefined) return value;
  const meant = Number(text.replace(/%$/, '')) / 100;
  const suggestion = findConfidenceProblem(meant) === undefined ? `; did you mean ${meant}?` : ', such as 0.95.';
  throw new InvalidArgumentError(`expected a number above 0.5 and below 1${suggestion}`);
}

const UNIT_MS = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);
const LONGEST_MS = 100 * 365 * 86_400_000;

/** Parses `90d`, `12h` or `30m` into milliseconds. */
export function parseLifetime(text: string): number {
  const { amount, unit } = /^(?<amount>\d{1,9})(?<unit>[mhd])$/.exec(text)?.groups ?? {};
  const milliseconds = Number(amount) * (UNIT_MS.get(unit ?? '') ?? Number.NaN);
  if (milliseconds > 0 && milliseconds <= LONGEST_MS) return milliseconds;
  throw new InvalidArgumentError('expected a number with its unit, such as 90d, 12h or 30m, above 0 and of a hundred years at most.');
}
