import { getMessage } from '../../../kernel/errors.ts';
import { ObjectStoreError } from './object-store.ts';

/** The number of characters that are kept of a message. They show what is wrong; some answers are whole pages. */
const MESSAGE_SHOWN = 300;

/**
 * Converts an error of a store's client. It repeats the store's own words: clients' messages contain no credentials.
 *
 * @param isUnsigned whether the client had no credentials to sign requests with.
 */
export function toObjectStoreError(error: unknown, status: number | undefined, isUnsigned: boolean): ObjectStoreError {
  const said = getMessage(error).replaceAll(/\s+/g, ' ').trim().slice(0, MESSAGE_SHOWN);
  const answered = status === undefined ? '' : `it answered ${status}`;
  const message = [answered, said].filter((part) => part !== '').join(': ');
  return new ObjectStoreError(message || 'it did not say why', status, isUnsigned, { cause: error });
}

/** Reads an HTTP status in a named field of an error. */
export function readNumberIn(value: unknown, name: string): number | undefined {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof found === 'number' ? found : undefined;
}
