import type { JsonBounds } from '../../kernel/json-bounds.ts';

/** How a candidate's output is compared with the golden model's. */
export interface Comparison {
  readonly isEqual: boolean;
  /** The first difference, for people; null when there is none. */
  readonly difference: string | null;
}

export const EQUAL: Comparison = { isEqual: true, difference: null };

export function toDifference(difference: string): Comparison {
  return { isEqual: false, difference };
}

/** The bounds of output that is JSON. */
export const OUTPUT_JSON: JsonBounds = { bytes: 256 * 1024 * 1024, depth: 64, values: 4_000_000 };
