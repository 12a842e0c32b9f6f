import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { InputError } from '../../kernel/errors.ts';

/** The hosts and networks to which this machine may send requests on behalf of a caller. */
export interface EgressPolicy {
  /** Allowed hosts: exact, `*.example.com` for all below one, `*` for all. */
  readonly hosts: readonly string[];
  /** Networks in CIDR notation that may be reached although they are not public. */
  readonly networks: readonly string[];
  /** Whether http: may be used. */
  readonly plainHttp: boolean;
}

/**
 * Checks each request before it is made, each redirection, and each address before a connection to it: a name does not show which address it resolves
 * to, and that may change.
 */
export class Egress {
  readonly #policy: EgressPolicy;
  /** Name of the setting, for people. */
  readonly #setting: string;

  /** @param setting path of the policy in the configuration. */
  constructor(policy: EgressPolicy, setting: string) {
    this.#policy = policy;
    this.#setting = setting;
  }

  /** @throws InputError `egress.url`, `egress.scheme`, `egress.host`, `egress.address`. */
  assertUrl(text: string): URL {
    const url = URL.parse(text);
    if (!url) throw new InputError('egress.url', `${describeUrl(text)} is not a URL; expected https://host/path`);
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new InputError('egress.scheme', `${describeUrl(text)}: ${url.protocol} is not supported; expected https:`);
    if (url.protocol === 'http:' && !this.#policy.plainHttp)
      throw new InputError(
        'egress.scheme',
        `${describeUrl(text)}: expected https:, which cannot be changed on the way, or ${this.#setting}.plainHttp`,
      );
    if (url.username !== '' || url.password !== '')
      throw new InputError('egress.url', `${describeUrl(text)}: expected a URL without a user and a password in it`);
    const host = stripBrackets(url.hostname);
    if (!this.#policy.hosts.some((pattern) => matchesHost(pattern, host)))
      throw new InputError(
        'egress.host',
        `${describeUrl(text)}: ${host} is not among the hosts of ${this.#setting}.hosts; ask an operator to add it`,
      );
    // Names are checked when they are resolved; addresses are never resolved.
    if (isIP(host) !== 0) this.assertAddress(host, host);
    return url;
  }

  /** @param host that led to it. @throws InputError `egress.address`. */
  assertAddress(address: string, host: string): void {
    if (this.allows(address)) return;
    throw this.createRefusal(host);
  }

  allows(address: string): boolean {
    return isPublicAddress(address) || isWithin(address, this.#policy.networks);
  }

  /** Does not name the address, which would reveal internal names to outsiders. */
  createRefusal(host: string): InputError {
    return new InputError(
      'egress.address',
      `${host} has no public address, and is in no network of ${this.#setting}.networks; ask an operator to add its network`,
    );
  }
}

function matchesHost(pattern: string, host: string): boolean {
  if (pattern === '*' || pattern === host) return true;
  return pattern.startsWith('*.') && host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1;
}

/** Strips the brackets of IPv6 and the final dot of a fully qualified name. */
function stripBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
}

/** Returns the part that may appear in a message: query and user may be secrets. */
export function describeUrl(url: string | URL): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : url;
  if (!parsed) return JSON.stringify(String(url).slice(0, 200));
  return parsed.host === '' ? `${parsed.protocol}…` : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** Cloud services at addresses with public numbers: Azure's, which knows the machine's identity. */
const PUBLIC_BY_NUMBER_ALONE: ReadonlySet<string> = new Set(['168.63.129.16']);

/** Global unicast; the rest of IPv6 is unassigned, or maps to something else. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is one of the public internet: not of this machine, its networks, its provider's network or services, and none that represents
 * another address. Unknown addresses are not public.
 *
 * @param address as DNS or a URL has it, without brackets.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed === undefined || parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_IPV6) : !PUBLIC_BY_NUMBER_ALONE.has(parsed.toString());
}

/** @param networks in CIDR notation. @throws Error when one of them is invalid. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  const parsed = parse(address);
  if (parsed === undefined) return false;
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return base.kind() === parsed.kind() && parsed.match(base, bits);
  });
}

/** Parses an IPv4 address that is mapped into IPv6 as the IPv4 address. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!address.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(address) ? ipaddr.IPv4.parse(address) : undefined;
  // The address is written in hexadecimal groups, as `ipaddr.js` takes ::1.2.3.4 for ::ffff:1.2.3.4, which is another address.
  const written = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  return written === undefined || !ipaddr.IPv6.isValid(written) ? undefined : ipaddr.process(written);
}
