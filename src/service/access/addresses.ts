import ipaddr from 'ipaddr.js';

/** Where a service of the cloud answers on an address that is public by its number: Azure's, with the machine's identity. */
const PUBLIC_BY_NUMBER_ALONE: ReadonlySet<string> = new Set(['168.63.129.16']);

/** Global unicast; the rest of IPv6 is unassigned, or maps to something else. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is one of the public internet: not of this machine, its networks, its provider's network or services, and none that stands
 * for another address. What is unknown is not.
 *
 * @param address as DNS or a URL has it, without brackets.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed === undefined || parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_IPV6) : !PUBLIC_BY_NUMBER_ALONE.has(parsed.toString());
}

/** @param networks in CIDR notation. @throws Error when one of them is none. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  const parsed = parse(address);
  if (parsed === undefined) return false;
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return base.kind() === parsed.kind() && parsed.match(base, bits);
  });
}

/** An IPv4 address in IPv6's clothes is the IPv4 address. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!address.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(address) ? ipaddr.IPv4.parse(address) : undefined;
  // In hexadecimal groups: `ipaddr.js` takes ::1.2.3.4 for ::ffff:1.2.3.4, which it is not.
  const written = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  return written === undefined || !ipaddr.IPv6.isValid(written) ? undefined : ipaddr.process(written);
}
