import type { Failed } from './outcome.ts';

/** Addresses, digests and numbers: what may differ between two reports of one error. */
const VARIABLE = /0x[0-9a-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi;

/** The same for failures that differ in addresses, numbers and white space only: these are taken for one error. */
export function buildErrorKey({ cause, detail }: Pick<Failed, 'cause' | 'detail'>): string {
  return `${cause} ${detail.replaceAll(VARIABLE, '#').replaceAll(/\s+/g, ' ')}`;
}
