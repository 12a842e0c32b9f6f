import { compareNames, sortNewestFirst, type FoundCheckpoint } from './found-checkpoints.ts';
import { isSettled, type WatchRecord } from './watch-record.ts';

/**
 * The policy for older checkpoints when a newer one is complete: they are left out, or have their turn when nothing newer waits. With `cancel` they
 * are left out even during their evaluation.
 */
export type StalePolicy = 'skip' | 'cancel' | 'evaluate';

export interface WatchPlan {
  /** The checkpoint to evaluate now; undefined when there is none. */
  readonly next: FoundCheckpoint | undefined;
  /** Checkpoints that are never evaluated. */
  readonly stale: readonly FoundCheckpoint[];
}

/** @param complete checkpoints whose writers are done. */
export function planWatch(record: WatchRecord, complete: readonly FoundCheckpoint[], policy: StalePolicy): WatchPlan {
  const [newest, ...older] = sortNewestFirst(complete.filter((checkpoint) => !isSettled(record, checkpoint)));
  if (newest === undefined) return { next: undefined, stale: [] };
  switch (policy) {
    case 'evaluate':
      return { next: newest, stale: [] };
    case 'cancel':
    case 'skip': {
      const isOvertaken = record.settled.some(({ name, outcome }) => outcome === 'evaluated' && compareNames(newest.name, name) < 0);
      return isOvertaken ? { next: undefined, stale: [newest, ...older] } : { next: newest, stale: older };
    }
  }
}

/** Chooses the checkpoint after the present one, as things are; undefined while there is none. */
export function chooseFollowing(
  record: WatchRecord,
  complete: readonly FoundCheckpoint[],
  present: FoundCheckpoint,
  policy: StalePolicy,
): FoundCheckpoint | undefined {
  if (policy !== 'evaluate') return chooseOvertaking(record, complete, present);
  const others = complete.filter(({ name, fingerprint }) => name !== present.name || fingerprint !== present.fingerprint);
  return planWatch(record, others, policy).next;
}

/** Chooses the checkpoint for which the present one is given up, perhaps a new content under the same name; undefined while there is none. */
export function chooseOvertaking(
  record: WatchRecord,
  complete: readonly FoundCheckpoint[],
  present: FoundCheckpoint,
): FoundCheckpoint | undefined {
  const { next } = planWatch(record, complete, 'cancel');
  if (next === undefined) return undefined;
  const isNewer = next.name === present.name ? next.fingerprint !== present.fingerprint : compareNames(next.name, present.name) > 0;
  return isNewer ? next : undefined;
}
