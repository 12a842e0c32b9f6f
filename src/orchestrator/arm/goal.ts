import type { Outcome } from '../../kernel/outcome.ts';

/** The purpose of an arm's episodes. It accepts outcomes in any order; its result depends on the indices alone. */
export interface Goal {
  /** All indices before it have their outcome. */
  readonly folded: number;
  /** The first index that may not be dispatched: it will never be needed, or its task is not decided yet. */
  readonly limit: number;
  /** Whether no further outcome is needed. */
  readonly isReached: boolean;
  /** Estimates the episodes from `folded` on that are still needed: bounds how far dispatch runs ahead. */
  estimateRemaining(): number;
  /** @param task position of the episode's task in the suite. */
  offer(index: number, task: number, outcome: Outcome): void;
}
