import type { FetchWay } from '../../kernel/fetching.ts';

/** The values of the template's setting. */
export const DELIVERIES = ['auto', 'upload', 'pull', 'node-cache'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** How files arrived: Muster sent them, or they were fetched. */
export type DeliveryWay = 'upload' | FetchWay;

/** The name of each way in templates, results and logs. */
export const WAY_NAMES = { upload: 'upload', pull: 'pull', 'shared-cache': 'node-cache' } as const;
export type WayName = (typeof WAY_NAMES)[DeliveryWay];

/**
 * Up to this many bytes, sending is always best: fetching takes a process in the sandbox, and so little data does not burden the API server
 * of Kubernetes.
 */
export const UPLOADED_BYTES = 10_000_000;

/**
 * Lists the ways to try, in order, until one succeeds. Pure.
 *
 * @param bytes of all files together. @param offered ways in which the sandbox can fetch, cheapest first; none when there is nowhere to fetch from.
 */
export function listDeliveryWays(delivery: Delivery, bytes: number, offered: readonly FetchWay[]): readonly DeliveryWay[] {
  switch (delivery) {
    case 'auto':
      return bytes <= UPLOADED_BYTES ? ['upload'] : [...offered, 'upload'];
    case 'upload':
      return ['upload'];
    case 'pull':
      return ['pull'];
    case 'node-cache':
      return ['shared-cache', ...offered.filter((way) => way !== 'shared-cache')];
  }
}
