import { isLoopback } from '../../service/access/loopback.ts';
import { InputError } from '../../kernel/errors.ts';

/** @returns the address without a slash at its end. @throws InputError `client.url` */
export function parseServerUrl(given: string): string {
  const url = URL.parse(given);
  const isOne =
    url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (isOne) return given.replace(/\/+$/, '');
  throw new InputError(
    'client.url',
    `url: expected http://HOST:PORT or https://HOST:PORT, without user, query or fragment; give it, or set MUSTER_URL${suggestScheme(given)}`,
  );
}

/** Of an address, nothing but its scheme is repeated: what else is wrong with it may be a password. */
function suggestScheme(given: string): string {
  return /^[\w.-]+:\d+\/?$/.test(given) ? `; did you mean http://${given}?` : '';
}

/**
 * The token as it may be sent there.
 *
 * @param url as `parseServerUrl` returns it. @param plainHttp whether it may be read on its way.
 * @throws InputError `client.token`, `client.plain-http`
 */
export function checkSendableToken(token: string | undefined, url: string, plainHttp: boolean): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new InputError('client.token', 'token: expected visible ASCII characters alone; is there a line break at its end?');
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || plainHttp || isLoopback(hostname)) return token;
  throw new InputError(
    'client.plain-http',
    `${url}: the token would be readable on its way; use https:, or allow plain HTTP where the network is your own`,
  );
}
