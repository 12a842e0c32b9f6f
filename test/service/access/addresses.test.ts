import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPublicAddress, isWithin } from '../../../src/service/access/egress.ts';

/** IANA's special-purpose address registries, and what is given to multicast, for later use, or stands for other addresses. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const SPECIAL_IPV6 = [
  '::/8',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:2::/48',
  '2001:db8::/32',
  '2001:10::/28',
  '2001:20::/28',
  '2002::/16',
  '3fff::/20',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

const specialIpv4 = blockList(SPECIAL_IPV4);
const specialIpv6 = blockList(SPECIAL_IPV6);
const RUNS = { numRuns: 2000 };

describe('an address is not public', () => {
  it.each([
    ['this machine', ['127.0.0.1', '127.255.255.254', '::1', '0.0.0.0', '::', '0.1.2.3']],
    ['a private network', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd00::1', 'fc00::1', 'fec0::1']],
    ['the link', ['169.254.1.1', 'fe80::1', 'fe80::1%eth0']],
    ['a provider’s network', ['100.64.0.1', '100.127.255.255']],
    ['many machines at once', ['224.0.0.1', '255.255.255.255', 'ff02::1']],
    ['a cloud’s service for its machines', ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '192.0.0.192', '168.63.129.16']],
    ['IPv4 in other clothes', ['::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '::ffff:0:7f00:1']],
    ['no address', ['', 'localhost', '127.1', '0177.0.0.1', '2130706433', '0x7f.1', '1.2.3', 'example.com', '[::1]', '1.2.3.4/8']],
  ])('of %s', (_, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });

  it('wherever it lies in a special network', () => {
    const inIpv4 = fc.constantFrom(...SPECIAL_IPV4).chain((network) => fc.tuple(fc.constant(network), fc.nat(2 ** 32 - 1)));
    fc.assert(
      fc.property(inIpv4, ([network, number]) => {
        const [base = '', bits = ''] = network.split('/');
        const size = 2 ** (32 - Number(bits));
        expect(isPublicAddress(dotted(numberOf(base) + (number % size)))).toBe(false);
      }),
      RUNS,
    );
  });

  it('exactly when it is in the registries of special addresses: IPv4', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(address)).toBe(!specialIpv4.check(address) && !isSpecialByUse(address));
      }),
      RUNS,
    );
  });

  it('when it is in the registries of special addresses: IPv6', () => {
    const anywhere = fc
      .array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })
      .map((groups) => groups.map((group) => group.toString(16)).join(':'));
    const special = fc.constantFrom(...SPECIAL_IPV6.map((network) => network.split('::')[0] ?? ''));
    const near = fc.tuple(special, fc.nat(0xffff)).map(([prefix, last]) => `${prefix}::${last.toString(16)}`);
    fc.assert(
      fc.property(fc.oneof(anywhere, near, fc.ipV6()), (address) => {
        expect(isPublicAddress(address) && specialIpv6.check(address, 'ipv6')).toBe(false);
      }),
      RUNS,
    );
  });

  it('when it maps an IPv4 address that is not public', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(`::ffff:${address}`)).toBe(isPublicAddress(address));
      }),
      RUNS,
    );
  });
});

describe('an address is public', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '::ffff:8.8.8.8',
  ])('%s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('a network', () => {
  it('contains the addresses of its kind within it, and those that map to them', () => {
    expect(isWithin('10.1.2.3', ['10.1.0.0/16'])).toBe(true);
    expect(isWithin('::ffff:10.1.2.3', ['10.1.0.0/16'])).toBe(true);
    expect(isWithin('10.2.0.0', ['10.1.0.0/16'])).toBe(false);
    expect(isWithin('fd00::1', ['10.0.0.0/8', 'fd00::/8'])).toBe(true);
    expect(isWithin('::1', ['0.0.0.0/0'])).toBe(false);
    expect(isWithin('127.1', ['127.0.0.0/8'])).toBe(false);
    expect(isWithin('1.1.1.1', [])).toBe(false);
  });
});

/** Of no registry, and yet not for strangers: relays that map IPv4 (RFC 7526, 8155, 7450), name servers of private zones, a cloud's service. */
function isSpecialByUse(address: string): boolean {
  return blockList(['192.31.196.0/24', '192.52.193.0/24', '192.175.48.0/24', '168.63.129.16/32']).check(address);
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [base = '', bits = ''] = network.split('/');
    list.addSubnet(base, Number(bits), base.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function dotted(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
