import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { V1HostAlias } from '@kubernetes/client-node';
import { InputError, getMessage } from '../../../../kernel/errors.ts';
import type { DialBackSettings } from '../settings/pod-template.ts';

/** Loopback hosts of a URL, in which an IPv6 address is in brackets. */
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/**
 * Returns the address that pods dial, by the configuration alone.
 *
 * @throws InputError `PROVIDER.dial-back-address`, with the remedy.
 */
export function getAdvertisedUrl({ provider, advertise, certificate, plaintext }: DialBackSettings): URL {
  const createAddressError = (problem: string): InputError => createErrorOf(provider, problem);
  if (advertise === undefined)
    throw createAddressError(
      `is not set, and pods that dial back need Muster's address; set it to ws:// or wss:// and an address that pods can reach`,
    );
  const url = URL.canParse(advertise) ? new URL(advertise) : undefined;
  if (!url || !['ws:', 'wss:'].includes(url.protocol) || url.pathname !== '/' || url.search !== '' || url.username !== '')
    throw createAddressError(`is ${JSON.stringify(advertise)}; expected ws:// or wss://, a host and a port`);
  const isOpen = url.protocol === 'ws:';
  if (isOpen && certificate !== undefined) throw createAddressError(`begins with ws://, but Muster has a certificate; write wss://`);
  if (isOpen && plaintext === 'refused' && !LOOPBACK.test(url.hostname)) {
    const risk = 'anyone on the way can read checkpoints and change results';
    throw createAddressError(
      `is not encrypted, so that ${risk}; write wss://, or ${provider}.dialBack.plaintext: allowed where the network is trusted`,
    );
  }
  return url;
}

/** @param port on which Muster listens: replaces a port of 0. */
export function getDialledUrl(settings: DialBackSettings, port: number): URL {
  const url = getAdvertisedUrl(settings);
  if (url.port === '0') url.port = String(port);
  return url;
}

/**
 * Returns what a pod has to know to find the host without a name server: pods that reach nothing but Muster reach no name server.
 *
 * @throws InputError `PROVIDER.dial-back-address` when Muster cannot find it either.
 */
export async function resolveHostAliases(provider: string, { hostname }: URL): Promise<readonly V1HostAlias[]> {
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0) return [];
  try {
    const { address } = await lookup(hostname);
    return [{ ip: address, hostnames: [hostname] }];
  } catch (error) {
    throw createErrorOf(
      provider,
      `has a host that cannot be found from here: ${getMessage(error)}; write its IP address, or a name that is known here, too`,
    );
  }
}

function createErrorOf(provider: string, problem: string): InputError {
  return new InputError(`${provider}.dial-back-address`, `${provider}.dialBack.advertise ${problem}`);
}
