import { OwnershipLostError, type Claimable, type Ownership, type Ownerships, type Renewal } from '../../../evaluation-store/ownership.ts';
import { parseEvaluationId, type EvaluationId, type OwnerId } from '../../../kernel/ids.ts';
import { readNumber, readText } from './schema/columns.ts';
import { guard, toStep } from './schema/database.ts';
import { toPlainSql, sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlOwnerships extends SqlAdapter implements Ownerships {
  async listClaimable(limit: number): Promise<readonly Claimable[]> {
    const rows = await this.database.query(
      sql`SELECT id, principal, priority FROM
            (SELECT v.id, v.principal, v.priority, v.created_at,
               row_number() OVER (PARTITION BY v.principal ORDER BY v.priority DESC, v.created_at, v.id) AS turn
             FROM evaluations v LEFT JOIN ownerships o ON o.evaluation = v.key
             WHERE v.state IN ('waiting', 'running') AND (o.evaluation IS NULL OR o.expires_at <= ${this.#now()})) AS free
          ORDER BY turn, priority DESC, created_at, id LIMIT ${limit}`,
    );
    return rows.map((row) => ({
      id: parseEvaluationId(readText(row, 'id')),
      principal: readText(row, 'principal'),
      priority: readNumber(row, 'priority'),
    }));
  }

  async claim(evaluation: EvaluationId, owner: OwnerId, milliseconds: number): Promise<Ownership | undefined> {
    const now = this.#now();
    const claimed = sql`
      INSERT INTO ownerships (evaluation, owner, fence, expires_at)
      SELECT key, ${owner}, 1, CAST(${now + milliseconds} AS bigint) FROM evaluations WHERE id = ${evaluation}
      ON CONFLICT (evaluation) DO UPDATE SET owner = excluded.owner, fence = ownerships.fence + 1, expires_at = excluded.expires_at
      WHERE ownerships.expires_at <= ${now} RETURNING evaluation, fence`;
    // Looked at once the claim is made, which waits for writes of the owner before: the last of them may have been the end.
    const isOpen = sql`SELECT 1 AS open FROM evaluations WHERE id = ${evaluation} AND state IN ('waiting', 'running')${toPlainSql(this.database.dialect.shared)}`;
    const [row] = (await this.database.transact([guard(claimed), guard(isOpen)]))?.[0] ?? [];
    return row && { evaluation, key: readNumber(row, 'evaluation'), owner, fence: readNumber(row, 'fence') };
  }

  async renew(ownership: Ownership, milliseconds: number): Promise<Renewal> {
    const { key, owner, fence } = ownership;
    const rows = await this.database.transact([
      guard(
        sql`UPDATE ownerships SET expires_at = ${this.#now() + milliseconds}
            WHERE evaluation = ${key} AND owner = ${owner} AND fence = ${fence} RETURNING fence`,
      ),
      toStep(sql`SELECT 1 AS requested FROM evaluations WHERE key = ${key} AND cancel_requested_at IS NOT NULL`),
    ]);
    if (rows === undefined) throw new OwnershipLostError(ownership);
    return { cancelRequested: rows[1]?.length === 1 };
  }

  async release({ key, owner, fence }: Ownership): Promise<void> {
    const released = sql`UPDATE ownerships SET expires_at = 0 WHERE evaluation = ${key} AND owner = ${owner} AND fence = ${fence}`;
    await this.database.transact([toStep(released)]);
  }

  #now(): number {
    return this.clock.date().getTime();
  }
}
