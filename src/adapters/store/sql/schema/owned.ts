import { OwnershipLostError, type Ownership } from '../../../../evaluation-store/ownership.ts';
import { guard, type Database, type Row, type Step } from './database.ts';
import { toPlainSql, sql } from './statement.ts';

/**
 * Writes of an owner: they are carried out while the ownership is in force, or not at all. The guard locks the row of the ownership, so that a claim
 * waits for writes that are under way, and the next owner sees all of them.
 *
 * @returns the rows of each step. @throws OwnershipLostError
 */
export async function transactOwned(
  database: Database,
  ownership: Ownership,
  steps: readonly Step[],
): Promise<readonly (readonly Row[])[]> {
  const { key, owner, fence } = ownership;
  const inForce = sql`SELECT 1 AS held FROM ownerships WHERE evaluation = ${key} AND owner = ${owner} AND fence = ${fence}${toPlainSql(database.dialect.shared)}`;
  const rows = await database.transact([guard(inForce), ...steps]);
  if (rows === undefined) throw new OwnershipLostError(ownership);
  return rows.slice(1);
}
