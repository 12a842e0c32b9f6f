import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../../kernel/clock.ts';
import { makeDirectory } from '../../files/made-directory.ts';
import { toStep } from '../sql/schema/database.ts';
import { migrate } from '../sql/schema/migrate.ts';
import { openSqlEvaluationStore, type SqlStore } from '../sql/sql-evaluation-store.ts';
import { sql } from '../sql/schema/statement.ts';
import { SqliteDatabase } from './sqlite-database.ts';
import { createNotMadeError } from './unusable-file.ts';

/**
 * Opens the store of one Muster, in one file that only it and its user can read. While it is open no other process can use the file.
 *
 * @throws InputError when another Muster has it open, a newer one has used it, or the path cannot be used at all; InfrastructureError `store.full`,
 * `store.failed` when the disk fails.
 */
export async function openSqliteStore(path: string, clock: Clock): Promise<SqlStore> {
  await makePrivate(path);
  const database = await SqliteDatabase.open(path, clock);
  try {
    await migrate(database, path, clock);
    await disown(database);
    return await openSqlEvaluationStore(database, clock);
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

/** Ends the ownerships of former processes before they expire: no other process has the file now. */
async function disown(database: SqliteDatabase): Promise<void> {
  await database.transact([
    toStep(sql`UPDATE ownerships SET expires_at = 0 WHERE expires_at <> 0`),
    toStep(sql`UPDATE rollout_streams SET held_until = 0 WHERE held_until <> 0 AND state = 'running'`),
    toStep(sql`UPDATE agent_episodes SET held_until = 0 WHERE held_until <> 0 AND closed_at IS NULL`),
  ]);
}

/** Creates the file with access for its user alone. SQLite gives the files that it adds the same permissions. */
async function makePrivate(path: string): Promise<void> {
  try {
    await makeDirectory(dirname(path));
    const file = await open(path, 'a', 0o600);
    await file.close();
  } catch (error) {
    throw createNotMadeError(path, error);
  }
}
