import type { Page, PageRequest } from './paging.ts';

/** A record of who changed what. */
export interface AuditEntry {
  readonly principal: string;
  /** Stable, for programs: `pool.scale`, for example. */
  readonly action: string;
  /** The thing that the action changed. */
  readonly target: string;
  /** JSON. */
  readonly details: object;
}

export interface StoredAuditEntry extends Omit<AuditEntry, 'details'> {
  readonly id: number;
  readonly at: Date;
  readonly details: unknown;
}

export interface AuditTrail {
  record(entry: AuditEntry): Promise<void>;

  /** Lists the latest first. @throws InputError `cursor.invalid`. */
  list(page: PageRequest): Promise<Page<StoredAuditEntry>>;
}
