import type { Outcome } from '../../kernel/outcome.ts';
import type { Killed } from '../../runner/played-episode.ts';

/** Counts how often an episode's sandbox was lost. */
export interface LostAttempts {
  readonly lost: number;
  /** Attempts in which the runner was killed while it played this very episode. */
  readonly killed: number;
}

export const NO_ATTEMPTS: LostAttempts = { lost: 0, killed: 0 };

export type RetryDecision =
  { readonly kind: 'again'; readonly attempts: LostAttempts } | { readonly kind: 'final'; readonly outcome: Outcome };

/**
 * Decides what happens to an episode whose sandbox was lost. It is played again on another sandbox until `maxAttempts`. Then it is
 * unresolved, unless its runner was killed in every attempt: an episode that kills every runner is the cause, and is scored as a crash.
 */
export function decideAfterLoss(attempts: LostAttempts, detail: string, killed: Killed, maxAttempts: number): RetryDecision {
  const next = { lost: attempts.lost + 1, killed: attempts.killed + (killed ? 1 : 0) };
  if (next.lost < maxAttempts) return { kind: 'again', attempts: next };
  if (next.killed === next.lost) {
    const cause = killed === 'policy' ? 'policy-crash' : 'environment-crash';
    return {
      kind: 'final',
      outcome: { kind: 'failed', cause, detail: `the ${killed} was killed in each of ${next.lost} attempts: ${detail}` },
    };
  }
  return { kind: 'final', outcome: { kind: 'lost', detail: `lost ${next.lost} times: ${detail}` } };
}
