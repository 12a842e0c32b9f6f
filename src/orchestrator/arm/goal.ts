import type { Outcome } from '../../kernel/outcome.ts';

/** The purpose of an arm's episodes. It takes outcomes in any order; its result depends on the indices alone. */
export interface Goal {
  /** All indices before it have their outcome. */
  readonly folded: number;
  /** First index that may not be dispatched: it will never be needed, or which task it plays is not decided yet. */
  readonly limit: number;
  /** Whether no further outcome is needed. */
  readonly isReached: boolean;
  /** Episodes that are likely still needed from `folded` on: bounds how far dispatch runs ahead. */
  expectedRemaining(): number;
  /** @param task position of the episode's task in the suite. */
  offer(index: number, task: number, outcome: Outcome): void;
}
