import ipaddr from 'ipaddr.js';
import { InputError } from '../../kernel/errors.ts';

/** `tokens`: every call needs one, except the public ones. `off`: every caller that reaches the server is its operator. */
export type AccessMode = 'tokens' | 'off';

/** @param host that a server listens on. @throws InputError `access.off` when other machines could reach it. */
export function assertAccessFits(mode: AccessMode, host: string): void {
  if (mode === 'tokens' || isLoopback(host)) return;
  throw new InputError(
    'access.off',
    `server.access: "off" admits every program that reaches ${host}; expected "tokens", or a server.host of this machine alone, such as 127.0.0.1`,
  );
}

/** The headers and addresses that show where a request comes from. */
export interface RequestOrigin {
  /** Address of the other end of the connection. */
  readonly remoteAddress: string | undefined;
  /** Headers, undefined where they are not sent. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly forwarded: string | undefined;
}

/**
 * Whether a request comes from this machine itself, where access is off. A web page of another site in a local browser can reach loopback: its
 * `Origin`, or the `Host` that it made resolve to loopback, reveals it. Behind a proxy, every peer looks local.
 *
 * @returns what is wrong, for people; undefined when nothing is.
 */
export function findStrangeOrigin({ remoteAddress, host, origin, forwarded }: RequestOrigin): string | undefined {
  if (remoteAddress === undefined || !isLoopback(remoteAddress)) return 'it comes from another machine';
  if (forwarded !== undefined) return 'a proxy forwarded it';
  if (host === undefined || !isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')) return `its Host is ${host ?? 'missing'}`;
  if (origin !== undefined && !isLoopback(URL.parse(origin)?.hostname ?? '')) return `it was made by a page of ${origin}`;
  return undefined;
}

/** Whether a host, as URLs and listeners have it, is this machine alone. */
export function isLoopback(host: string): boolean {
  const name = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (name === 'localhost') return true;
  return ipaddr.isValid(name) && isFourPart(name) && ipaddr.process(name).range() === 'loopback';
}

/** `ipaddr.js` also accepts forms such as `0177.1`, which are refused here. */
function isFourPart(name: string): boolean {
  return name.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(name);
}
