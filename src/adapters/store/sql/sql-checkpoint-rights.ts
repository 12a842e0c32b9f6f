import type { Brought, CheckpointRights, Grant, StoredGrant, Usable } from '../../../evaluation-store/checkpoint-rights.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { parseDigest, type Digest } from '../../../kernel/ids.ts';
import { readDate, readOptional, readText } from './schema/columns.ts';
import { toStep, type Row } from './schema/database.ts';
import { joinSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

/** Digests in one statement. */
const ASKED_AT_ONCE = 500;

export class SqlCheckpointRights extends SqlAdapter implements CheckpointRights {
  async bring(brought: readonly Brought[]): Promise<void> {
    const at = this.clock.date().getTime();
    // The order is fixed, so that two transactions that bring the same checkpoints never deadlock.
    const ordered = [...brought].sort((a, b) => (a.digest < b.digest ? -1 : Number(a.digest > b.digest)));
    await this.database.transact(
      ordered.map(({ principal, digest, kind, name }) =>
        toStep(
          sql`INSERT INTO brought_checkpoints (principal, digest, kind, name, at) VALUES (${principal}, ${digest}, ${kind}, ${name}, ${at})
              ON CONFLICT (principal, digest) DO UPDATE SET kind = excluded.kind, name = excluded.name`,
        ),
      ),
    );
  }

  async findUsable(principal: string, digests: readonly Digest[]): Promise<ReadonlyMap<Digest, Usable>> {
    const usable = new Map<Digest, Usable>();
    for (let from = 0; from < digests.length; from += ASKED_AT_ONCE) {
      const asked = listDigests(digests.slice(from, from + ASKED_AT_ONCE));
      // An operator grants what others brought. What the principal itself has brought comes last, and so counts.
      const rows = await this.database.query(
        sql`SELECT b.digest, b.kind, b.name, b.at, b.principal, 0 AS own FROM checkpoint_grants g
              JOIN brought_checkpoints b ON b.digest = g.digest
              WHERE g.principal = ${principal} AND g.digest IN (${asked})
              AND (b.principal = g.granted_by OR NOT EXISTS
                (SELECT 1 FROM brought_checkpoints o WHERE o.digest = g.digest AND o.principal = g.granted_by))
            UNION ALL
            SELECT digest, kind, name, at, principal, 1 AS own FROM brought_checkpoints WHERE principal = ${principal} AND digest IN (${asked})
            ORDER BY own, at DESC, principal DESC`,
      );
      for (const row of rows) usable.set(readDigest(row), getUsable(row));
    }
    return usable;
  }

  async findFirstBrought(digest: Digest): Promise<Usable | undefined> {
    const [row] = await this.database.query(
      sql`SELECT kind, name FROM brought_checkpoints WHERE digest = ${digest} ORDER BY at, principal LIMIT 1`,
    );
    return row && getUsable(row);
  }

  async hasBrought(principal: string, digest: Digest): Promise<boolean> {
    const rows = await this.database.query(
      sql`SELECT 1 AS brought FROM brought_checkpoints WHERE principal = ${principal} AND digest = ${digest}`,
    );
    return rows.length > 0;
  }

  async grant({ digest, principal, grantedBy }: Grant): Promise<StoredGrant> {
    const given = sql`
      INSERT INTO checkpoint_grants (digest, principal, granted_by, at)
      VALUES (${digest}, ${principal}, ${grantedBy}, ${this.clock.date().getTime()})
      ON CONFLICT (digest, principal, granted_by) DO UPDATE SET granted_by = excluded.granted_by
      RETURNING digest, principal, granted_by, at`;
    const [row = {}] = (await this.database.transact([toStep(given)]))?.[0] ?? [];
    return readGrant(row);
  }

  async revoke(digest: Digest, principal: string, grantedBy?: string): Promise<readonly StoredGrant[]> {
    const revoked = sql`
      DELETE FROM checkpoint_grants WHERE digest = ${digest} AND principal = ${principal}${selectGranter(grantedBy)}
      RETURNING digest, principal, granted_by, at`;
    const rows = (await this.database.transact([toStep(revoked)]))?.[0] ?? [];
    return rows.map(readGrant).sort((a, b) => (a.grantedBy < b.grantedBy ? -1 : 1));
  }

  async listGrants(digest: Digest, limit: number, grantedBy?: string): Promise<readonly StoredGrant[]> {
    const rows = await this.database.query(
      sql`SELECT digest, principal, granted_by, at FROM checkpoint_grants WHERE digest = ${digest}${selectGranter(grantedBy)}
          ORDER BY principal, granted_by LIMIT ${limit}`,
    );
    return rows.map(readGrant);
  }
}

function selectGranter(grantedBy: string | undefined): Sql {
  return grantedBy === undefined ? sql`` : sql` AND granted_by = ${grantedBy}`;
}

function listDigests(digests: readonly Digest[]): Sql {
  return joinSql(
    digests.map((digest) => sql`${digest}`),
    ', ',
  );
}

/** @throws InfrastructureError `store.unreadable` */
function getUsable(row: Row): Usable {
  const kind = readText(row, 'kind');
  if (kind === 'file' || kind === 'directory') return { kind, name: readOptional(row, 'name', readText) };
  throw new InfrastructureError(
    'store.unreadable',
    `the column kind holds "${kind}", which is not a kind of checkpoint that this version of Muster knows`,
  );
}

function readDigest(row: Row): Digest {
  return parseDigest(readText(row, 'digest'));
}

function readGrant(row: Row): StoredGrant {
  return {
    digest: readDigest(row),
    principal: readText(row, 'principal'),
    grantedBy: readText(row, 'granted_by'),
    at: readDate(row, 'at'),
  };
}
