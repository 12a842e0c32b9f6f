import type { SqlStore } from '../../../src/adapters/store/sql/sql-evaluation-store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { openStore } from '../../support/store-place.ts';
import type { EvaluationStoreSubject } from '../evaluation-store.ts';
import type { RolloutStreamsSubject } from '../rollout-streams.ts';
import type { TaskRecordsSubject } from '../task-records.ts';
import type { TrajectoriesSubject } from '../trajectories.ts';

type Subject = EvaluationStoreSubject & RolloutStreamsSubject & TrajectoriesSubject & TaskRecordsSubject;

/** A subject at a place that can be opened by its name. @param remove the place, once it is closed everywhere. */
export function subjectAt(place: string, remove: () => Promise<void>): Subject {
  const clock = new ManualClock();
  const opened: SqlStore[] = [];
  return {
    place,
    clock,
    open: async () => {
      const store = await openStore(place, clock);
      opened.push(store);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      for (const store of opened) await store[Symbol.asyncDispose]();
      await remove();
    },
  };
}

/** Opens a new place once, so that its copies have the tables. */
export async function makeTables(place: string): Promise<void> {
  const store = await openStore(place, new ManualClock());
  await store[Symbol.asyncDispose]();
}
