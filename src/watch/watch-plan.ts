import { compareNames, newestFirst, type FoundCheckpoint } from './found-checkpoints.ts';
import { isSettled, type WatchRecord } from './watch-record.ts';

/** What becomes of checkpoints that are older than one that is complete, too: they are left out, or have their turn when nothing newer waits. */
export type StalePolicy = 'skip' | 'evaluate';

export interface WatchPlan {
  /** To be evaluated now; undefined when there is nothing to do. */
  readonly next: FoundCheckpoint | undefined;
  /** Never to be evaluated. */
  readonly stale: readonly FoundCheckpoint[];
}

/** @param complete checkpoints whose writers are done. */
export function planWatch(record: WatchRecord, complete: readonly FoundCheckpoint[], policy: StalePolicy): WatchPlan {
  const [newest, ...older] = newestFirst(complete.filter((checkpoint) => !isSettled(record, checkpoint)));
  if (newest === undefined) return { next: undefined, stale: [] };
  switch (policy) {
    case 'evaluate':
      return { next: newest, stale: [] };
    case 'skip': {
      const isOvertaken = record.settled.some(({ name, outcome }) => outcome === 'evaluated' && compareNames(newest.name, name) < 0);
      return isOvertaken ? { next: undefined, stale: [newest, ...older] } : { next: newest, stale: older };
    }
  }
}
