/** The outcome of an episode. A failed episode is a value; only `lost` is about infrastructure. */
export type Outcome = Completed | Failed | Lost;

export interface Completed {
  readonly kind: 'completed';
  /** Undiscounted sum of rewards, within the suite's bounds. */
  readonly return: number;
  /** Environment steps. */
  readonly length: number;
  /** Scalars that the environment or the runner measured, by name. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The episode itself failed: it is scored as the suite says and never retried. */
export interface Failed {
  readonly kind: 'failed';
  readonly cause: FailureCause;
  /** Says what happened, for a person; at most a few kilobytes. */
  readonly detail: string;
}

/** The infrastructure failed: retried on another sandbox, then unresolved. Never scored. */
export interface Lost {
  readonly kind: 'lost';
  readonly detail: string;
}

export const FAILURE_CAUSES = [
  /** The episode exceeded the suite's time limit. */
  'timeout',
  /** The policy raised, or its action does not fit the environment. */
  'policy-crash',
  /** The environment raised, or its process ended while the episode ran. */
  'environment-crash',
  /** The sandbox's memory limit killed the process. */
  'out-of-memory',
  /** The runner's output for this episode is no valid frame, or not the due one. */
  'protocol-violation',
  /** The return is not a finite number. */
  'invalid-return',
  /** The return lies outside of the suite's declared reward bounds. */
  'out-of-bounds',
] as const;

export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** Addresses, digests and numbers: what may differ between two reports of one error. */
const VARIABLE = /0x[0-9a-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi;

/** Precedes, in the detail of a failure, what the program printed last. */
export const LAST_WORDS = '; last words: ';

/**
 * Builds a key that is equal for failures that differ only in addresses, numbers, white space and what the program printed last: they count
 * as one error.
 */
export function buildErrorKey({ cause, detail }: Pick<Failed, 'cause' | 'detail'>): string {
  const [error = ''] = detail.split(LAST_WORDS, 1);
  return `${cause} ${error.replaceAll(VARIABLE, '#').replaceAll(/\s+/g, ' ')}`;
}
