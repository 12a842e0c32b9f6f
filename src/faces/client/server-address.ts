import { isLoopback } from '../../service/access/loopback.ts';
import { InputError } from '../../kernel/errors.ts';

/** @param name what the address was given as, for messages. @returns it without a slash at its end. @throws InputError `client.url` */
export function parseServerUrl(given: string, name = 'url'): string {
  const url = URL.parse(given);
  const isOne =
    url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (isOne && /\/v1\/*$/.test(url.pathname))
    throw new InputError('client.url', `${name}: expected the address without /v1, which the client adds, got ${given}`);
  if (isOne) return given.replace(/\/+$/, '');
  throw new InputError(
    'client.url',
    `${name}: expected http://HOST:PORT or https://HOST:PORT, without user, query or fragment${given === '' ? '; give it, or set MUSTER_URL' : suggestScheme(given)}`,
  );
}

/** Does not repeat an address that may have a password in it. */
function suggestScheme(given: string): string {
  if (/^[\w.-]+:\d+\/?$/.test(given)) return `, got ${given}; did you mean http://${given}?`;
  return /^[\w.:/-]+$/.test(given) ? `, got ${given}` : '';
}

/**
 * Returns the token as it may be sent there.
 *
 * @param url as `parseServerUrl` returns it. @param plainHttp whether it may be read on its way. @param name what it was given as, for messages.
 * @throws InputError `client.token`, `client.plain-http`
 */
export function checkSendableToken(token: string | undefined, url: string, plainHttp: boolean, name = 'token'): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new InputError('client.token', `${name}: expected only visible ASCII characters; ${explainToken(token)}`);
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || plainHttp || isLoopback(hostname)) return token;
  throw new InputError(
    'client.plain-http',
    `${url}: the token would be sent unencrypted; use https:, or allow plain HTTP if the network is your own`,
  );
}

function explainToken(token: string): string {
  return token.includes('…')
    ? "'…' stands for the rest of a token, which 'muster token create' prints"
    : 'is there a space or a line break in it?';
}
