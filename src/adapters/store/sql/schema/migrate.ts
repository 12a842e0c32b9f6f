import type { Clock } from '../../../../kernel/clock.ts';
import { InputError } from '../../../../kernel/errors.ts';
import { readNumber } from './columns.ts';
import { toStep, type Database } from './database.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { toPlainSql, sql } from './statement.ts';

/**
 * Brings the structure of a database up to this Muster's. No other process may do so at the same time: the caller holds the database's lock.
 * Each migration is done whole or not at all.
 *
 * @param name of the database, for people.
 * @throws InputError `store.newer` when a newer Muster has been at work on it: what it made of it is not known here.
 */
export async function migrate(
  database: Database,
  name: string,
  clock: Clock,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const migrated = toPlainSql(
    'CREATE TABLE IF NOT EXISTS muster_migrations (version bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)',
  );
  await database.transact([toStep(migrated)]);
  const [row] = await database.query(sql`SELECT coalesce(max(version), 0) AS version FROM muster_migrations`);
  const version = row === undefined ? 0 : readNumber(row, 'version');
  if (version > migrations.length) {
    throw new InputError(
      'store.newer',
      `${name} has the structure ${version}, and this Muster knows those up to ${migrations.length}: a newer version has used it; start that version, or give this one another store`,
    );
  }
  for (const [i, migration] of migrations.entries()) {
    if (i < version) continue;
    const applied = sql`INSERT INTO muster_migrations (version, name, applied_at) VALUES (${i + 1}, ${migration.name}, ${clock.date().getTime()})`;
    await database.transact([...migration.statements(database.dialect).map((text) => toStep(toPlainSql(text))), toStep(applied)]);
  }
}
