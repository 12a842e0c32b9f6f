import type { ListedToken } from '../access/token-office.ts';
import { columns } from './columns.ts';

const HEADINGS = ['id', 'principal', 'role', 'made', 'state'] as const;

/** Tokens as a table. @param now decides which have expired. */
export function tokenLines(tokens: readonly ListedToken[], now: Date): readonly string[] {
  if (tokens.length === 0) return ['there are no tokens'];
  const rows = [HEADINGS, ...tokens.map((token) => [token.id, token.principal, token.role, dayOf(token.createdAt), stateOf(token, now)])];
  return columns(rows);
}

function stateOf({ expiresAt, revokedAt }: ListedToken, now: Date): string {
  if (revokedAt) return `revoked ${dayOf(revokedAt)}`;
  if (!expiresAt) return 'does not expire';
  return expiresAt <= now ? `expired ${dayOf(expiresAt)}` : `until ${dayOf(expiresAt)}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
