import { InputError } from '../../kernel/errors.ts';
import type { Outcome } from '../../kernel/outcome.ts';

/** An episode as a fold receives it, and holds it until all earlier ones are folded. */
export interface OfferedEpisode {
  /** Position of its task in the suite. */
  readonly task: number;
  readonly outcome: Outcome;
}

export type FoldStep =
  /** The prefix grew by `indices`: this episode, and those that waited for it. */
  | { readonly kind: 'folded'; readonly indices: number }
  /** Waits for an earlier index or, in a comparison, for another arm. */
  | { readonly kind: 'held' }
  /** The prefix had ended, or its arm needed no more episodes. The episode is counted, but never part of the result. */
  | { readonly kind: 'surplus' }
  /** This index was offered before (in a comparison: for this arm); nothing changed. */
  | { readonly kind: 'duplicate' };

/** @throws RangeError when a suite of so many tasks has none at this position. */
export function assertTask(task: number, tasks: number): void {
  if (!Number.isSafeInteger(task) || task < 0 || task >= tasks) throw new RangeError(`there are ${tasks} tasks, got number ${task}`);
}

export function createDifferentTasksError(index: number, baseline: number, candidate: number): InputError {
  return new InputError(
    'comparison.tasks-differ',
    `episode ${index}: expected the same task for all checkpoints, got number ${baseline} for the baseline and ${candidate} for a candidate; compare results of one suite with one seed`,
  );
}
