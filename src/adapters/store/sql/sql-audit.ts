import type { AuditEntry, AuditTrail, StoredAuditEntry } from '../../../evaluation-store/audit-trail.ts';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../evaluation-store/paging.ts';
import { readDate, readDocument, readNumber, readText } from './schema/columns.ts';
import { toStep } from './schema/database.ts';
import { toPlainSql, sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlAudit extends SqlAdapter implements AuditTrail {
  async record({ principal, action, target, details }: AuditEntry): Promise<void> {
    const entry = sql`
      INSERT INTO audit (at, principal, action, target, details)
      VALUES (${this.clock.date().getTime()}, ${principal}, ${action}, ${target}, ${JSON.stringify(details)})`;
    await this.database.transact([toStep(entry)]);
  }

  async list({ limit, after }: PageRequest): Promise<Page<StoredAuditEntry>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const beyond = position ? sql`WHERE (at, id) < (${position.milliseconds}, ${Number(position.id)})` : toPlainSql('');
    const rows = await this.database.query(
      sql`SELECT id, at, principal, action, target, details FROM audit ${beyond} ORDER BY at DESC, id DESC LIMIT ${limit + 1}`,
    );
    const entries = rows.map((row) => ({
      id: readNumber(row, 'id'),
      at: readDate(row, 'at'),
      principal: readText(row, 'principal'),
      action: readText(row, 'action'),
      target: readText(row, 'target'),
      details: readDocument(row, 'details'),
    }));
    return formatCutPage(entries, limit, ({ at, id }) => ({ milliseconds: at.getTime(), id: String(id) }));
  }
}
