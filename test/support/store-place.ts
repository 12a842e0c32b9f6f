import { openSqliteStore } from '../../src/adapters/store/sqlite/open-sqlite-store.ts';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import type { Clock } from '../../src/kernel/clock.ts';

/** Opens the store of a test's place, here or in another process. */
export function openStore(place: string, clock: Clock): Promise<EvaluationStore> {
  return openSqliteStore(place, clock);
}
