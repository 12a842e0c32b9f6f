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
