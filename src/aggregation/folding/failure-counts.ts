import { z } from 'zod';
import { FAILURE_CAUSES, type FailureCause, type Outcome } from '../../kernel/outcome.ts';

/** Has every cause, including those that did not occur. */
export const failuresSchema = z.record(z.enum(FAILURE_CAUSES), z.int().nonnegative());
export type Failures = Readonly<Record<FailureCause, number>>;

/** Counts the failures over all causes. */
export function countFailed(failures: Failures): number {
  return FAILURE_CAUSES.reduce((sum, cause) => sum + failures[cause], 0);
}

/** Failed episodes by their cause. */
export class FailureCounts {
  readonly #counts: Record<FailureCause, number> = {
    timeout: 0,
    'policy-crash': 0,
    'environment-crash': 0,
    'out-of-memory': 0,
    'protocol-violation': 0,
    'invalid-return': 0,
    'out-of-bounds': 0,
  };

  /** Counts the outcome if it is a failure. @param outcome as judged. */
  add(outcome: Outcome): void {
    if (outcome.kind === 'failed') this.#counts[outcome.cause] += 1;
  }

  get counts(): Record<FailureCause, number> {
    return { ...this.#counts };
  }
}
