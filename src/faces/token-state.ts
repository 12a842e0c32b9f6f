import { toEpochSeconds } from '../kernel/clock.ts';

/** Times as in JSON documents. */
interface TokenTimes {
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

const NEAR_SECONDS = 2 * 86_400;

/** Describes for people whether and until when a token is valid. @param now milliseconds since 1970. */
export function describeTokenState({ expiresAt, revokedAt }: TokenTimes, now: number): string {
  if (revokedAt !== null) return `revoked ${formatTokenTime(revokedAt, now)}`;
  if (expiresAt === null) return 'does not expire';
  return `${1000 * toEpochSeconds(expiresAt) <= now ? 'expired' : 'until'} ${formatTokenTime(expiresAt, now)}`;
}

/** Formats distant times as dates; within two days as the time of day, in UTC as all times of a server. */
export function formatTokenTime(time: string, now: number): string {
  return Math.abs(toEpochSeconds(time) - now / 1000) < NEAR_SECONDS ? `${time.slice(0, 16).replace('T', ' ')} UTC` : time.slice(0, 10);
}
