import type { AuditEntry, AuditTrail, StoredAuditEntry } from '../../../src/evaluation-store/audit-trail.ts';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../src/evaluation-store/paging.ts';
import { copyOf } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

export class InMemoryAudit extends InMemoryPart implements AuditTrail {
  async record(entry: AuditEntry): Promise<void> {
    const { audit, now } = this.memory;
    audit.push({ ...entry, details: copyOf(entry.details), id: audit.length + 1, at: new Date(now) });
  }

  async list({ limit, after }: PageRequest): Promise<Page<StoredAuditEntry>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const isBeyond = ({ at, id }: StoredAuditEntry): boolean =>
      !position || at.getTime() < position.milliseconds || (at.getTime() === position.milliseconds && id < Number(position.id));
    const entries = this.memory.audit.filter(isBeyond).sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id);
    return formatCutPage(entries, limit, ({ at, id }) => ({ milliseconds: at.getTime(), id: String(id) }));
  }
}
