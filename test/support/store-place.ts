import { openPostgresStore } from '../../src/adapters/store/postgres/open-postgres-store.ts';
import { openSqliteStore } from '../../src/adapters/store/sqlite/open-sqlite-store.ts';
import type { SqlStore } from '../../src/adapters/store/sql/sql-evaluation-store.ts';
import type { Clock } from '../../src/kernel/clock.ts';

/** Opens the store of a test's place, here or in another process. @param place path of a file, or a URL. */
export function openStore(place: string, clock: Clock): Promise<SqlStore> {
  return place.startsWith('postgresql://') ? openPostgresStore(place, clock) : openSqliteStore(place, clock);
}
