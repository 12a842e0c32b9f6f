import { getMessage } from '../../../kernel/errors.ts';
import { ObjectStoreError } from './object-store.ts';

/** Enough to see what is wrong; some answers are pages. */
const MESSAGE_SHOWN = 300;

/**
 * What a store's client throws, as Muster knows it. What it says is the store's own words: a client's errors hold no credentials in their messages.
 *
 * @param isUnsigned whether the client found nothing to sign requests with.
 */
export function toObjectStoreError(error: unknown, status: number | undefined, isUnsigned: boolean): ObjectStoreError {
  const said = getMessage(error).replaceAll(/\s+/g, ' ').trim().slice(0, MESSAGE_SHOWN);
  const answered = status === undefined ? '' : `it answered ${status}`;
  const message = [answered, said].filter((part) => part !== '').join(': ');
  return new ObjectStoreError(message || 'it did not say why', status, isUnsigned, { cause: error });
}

/** A status of HTTP that stands under a name in an error. */
export function readNumberIn(value: unknown, name: string): number | undefined {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof found === 'number' ? found : undefined;
}
