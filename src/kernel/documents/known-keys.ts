import { isDate } from 'node:util/types';
import { InputError } from '../errors.ts';
import { suggestNames } from './did-you-mean.ts';

/** The keys of an object that a program passes. */
export type Keys<T> = Readonly<Record<keyof T, true>>;

/**
 * Rejects unknown keys. Node strips types without checking them, and an ignored key would silently change an answer.
 *
 * @param elsewhere keys of the call's other argument. @throws InputError `library.input`
 */
export function assertKnownKeys(what: string, given: unknown, known: object, elsewhere: object = {}): void {
  const names = Object.keys(known);
  if (typeof given !== 'object' || given === null)
    throw new InputError('library.input', `${what}: expected an object with ${names.join(', ')}, got ${JSON.stringify(given)}`);
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(known, key)) continue;
    const remedy = Object.hasOwn(elsewhere, key)
      ? '; it belongs into the other argument of the call'
      : suggestNames(key, names) || `; expected one of ${names.join(', ')}`;
    throw new InputError('library.input', `${what}: ${key}: unknown key${remedy}`);
  }
}

/** Says what the value of a key has to be. */
export interface Kind {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
}
export type Kinds<T> = Readonly<Partial<Record<keyof T, Kind>>>;

export const FUNCTION: Kind = { expected: 'a function', fits: (value) => typeof value === 'function' };
export const TEXT: Kind = { expected: 'text', fits: (value) => typeof value === 'string' };
export const TRUTH: Kind = { expected: 'true or false', fits: (value) => typeof value === 'boolean' };
export const DATE: Kind = { expected: 'a Date', fits: (value) => isDate(value) && !Number.isNaN(value.getTime()) };

/** @throws InputError `library.input` for a value of another kind. */
export function assertKinds(what: string, given: object, kinds: Readonly<Record<string, Kind>>): void {
  const values = new Map<string, unknown>(Object.entries(given));
  for (const [name, { expected, fits }] of Object.entries(kinds)) {
    const value = values.get(name);
    if (value === undefined || fits(value)) continue;
    const got = typeof value === 'number' ? String(value) : JSON.stringify(value);
    throw new InputError('library.input', `${what}: ${name}: expected ${expected}, got ${got}`);
  }
}
