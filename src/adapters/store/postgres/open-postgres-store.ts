import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import { STORE_URL_EXPECTED } from '../../../kernel/documents/store-url.ts';
import { migrate } from '../sql/schema/migrate.ts';
import { openSqlEvaluationStore, type SqlStore } from '../sql/sql-evaluation-store.ts';
import { sql } from '../sql/schema/statement.ts';
import { PostgresDatabase } from './postgres-database.ts';

/** Any number that no other program is likely to lock in the same database. */
const MIGRATION_LOCK = 0x6d757374;

/**
 * Opens a store that several Musters share.
 *
 * @param url `postgresql://user:password@host:port/database` @throws InputError when the URL is invalid, the server refuses it or a newer Muster has
 * used the database; InfrastructureError when the server cannot be reached.
 */
export async function openPostgresStore(url: string, clock: Clock): Promise<SqlStore> {
  const name = describeDatabase(url);
  const database = await PostgresDatabase.open(url, name);
  try {
    await database.withLock(MIGRATION_LOCK, () => migrate(database, name, clock));
    return await openSqlEvaluationStore(database, clock);
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

/** Reads the server's name and version; nothing is changed there. @throws as `openPostgresStore`. */
export async function readPostgresVersion(url: string): Promise<string> {
  const name = describeDatabase(url);
  await using database = await PostgresDatabase.open(url, name);
  const [row] = await database.query(sql`SHOW server_version`);
  return `${name}: PostgreSQL ${String(row?.['server_version'])}`;
}

/** Describes the database without user and password. @throws InputError `store.url` */
export function describeDatabase(url: string): string {
  const parsed = URL.parse(url);
  // A "/" in a password ends the host. The rest of the password must not get into the name.
  if (parsed === null || !['postgres:', 'postgresql:'].includes(parsed.protocol) || parsed.pathname.includes('@'))
    throw new InputError('store.url', `store.url: expected ${STORE_URL_EXPECTED}, got ${url.replace(/:.*$/s, ':…')}`);
  const host = parsed.searchParams.get('host') ?? (parsed.host || 'this machine');
  return `the database ${parsed.pathname.slice(1)} on ${host}`;
}
