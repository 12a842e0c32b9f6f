import type { ListedToken } from '../../service/access/token-service.ts';
import { alignColumns } from './columns.ts';

const NEAR_MILLISECONDS = 2 * 86_400_000;

const HEADINGS = ['id', 'principal', 'role', 'made', 'state'] as const;

/** Tokens as a table. @param now decides which have expired. */
export function formatTokens(tokens: readonly ListedToken[], now: Date): readonly string[] {
  if (tokens.length === 0) return ['there are no tokens'];
  const rows = [
    HEADINGS,
    ...tokens.map((token) => [token.id, token.principal, token.role, formatTime(token.createdAt, now), describeState(token, now)]),
  ];
  return alignColumns(rows);
}

function describeState({ expiresAt, revokedAt }: ListedToken, now: Date): string {
  if (revokedAt) return `revoked ${formatTime(revokedAt, now)}`;
  if (!expiresAt) return 'does not expire';
  return expiresAt <= now ? `expired ${formatTime(expiresAt, now)}` : `until ${formatTime(expiresAt, now)}`;
}

/** Days tell apart what is far from now; within two days the time of day does, in UTC as all times of a server. */
function formatTime(date: Date, now: Date): string {
  const isNear = Math.abs(date.getTime() - now.getTime()) < NEAR_MILLISECONDS;
  return isNear ? `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC` : date.toISOString().slice(0, 10);
}
