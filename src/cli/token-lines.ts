import type { ListedToken } from '../access/token-office.ts';

const HEADINGS = ['id', 'principal', 'role', 'made', 'state'] as const;

/** Tokens as a table. @param now decides which have expired. */
export function tokenLines(tokens: readonly ListedToken[], now: Date): readonly string[] {
  if (tokens.length === 0) return ['there are no tokens'];
  const rows = [HEADINGS, ...tokens.map((token) => [token.id, token.principal, token.role, dayOf(token.createdAt), stateOf(token, now)])];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function stateOf({ expiresAt, revokedAt }: ListedToken, now: Date): string {
  if (revokedAt) return `revoked ${dayOf(revokedAt)}`;
  if (!expiresAt) return 'does not expire';
  return expiresAt <= now ? `expired ${dayOf(expiresAt)}` : `until ${dayOf(expiresAt)}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
