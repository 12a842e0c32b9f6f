import type { FetchWay } from '../../kernel/fetching.ts';

/** As a template has it. */
export const DELIVERIES = ['auto', 'upload', 'pull', 'node-cache'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** How files really came: Muster sent them, or they were fetched. */
export type DeliveryWay = 'upload' | FetchWay;

/** As templates, results and logs call each way. */
export const WAY_NAMES = { upload: 'upload', pull: 'pull', 'shared-cache': 'node-cache' } as const;
export type WayName = (typeof WAY_NAMES)[DeliveryWay];

/**
 * Up to so much, in bytes, is sent without a thought: fetching takes a process in the sandbox, and what passes an API server of Kubernetes on
 * its way is of no consequence.
 */
export const UPLOADED_BYTES = 10_000_000;

/**
 * The ways to try, one after the other, until one succeeds. Pure.
 *
 * @param bytes of all files together.
 * @param offered ways in which the sandbox can fetch, the cheapest first; none when there is nowhere to fetch from.
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
