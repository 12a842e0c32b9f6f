import { openPostgresStore } from '../adapters/store/postgres/open-postgres-store.ts';
import { openSqliteStore } from '../adapters/store/sqlite/open-sqlite-store.ts';
import type { Config } from '../config/config.ts';
import type { SqlStore } from '../adapters/store/sql/sql-evaluation-store.ts';
import type { Clock } from '../kernel/clock.ts';

/** The store that the configuration names. @throws as `openSqliteStore` and `openPostgresStore` do. */
export function openEvaluationStore({ store: { url } }: Pick<Config, 'store'>, clock: Clock): Promise<SqlStore> {
  return isShared({ url }) ? openPostgresStore(url, clock) : openSqliteStore(url, clock);
}

/** Whether other servers may have the store as well. */
export function isShared({ url }: Config['store']): boolean {
  return /^[a-z]+:/.test(url);
}
