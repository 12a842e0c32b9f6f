import { randomBytes } from 'node:crypto';
import { systemClock } from '../../kernel/clock.ts';

/** An id that cannot be guessed. Ids of one prefix sort by the time at which they were made. */
export function createTimedId(prefix: string): string {
  const time = systemClock.date().getTime().toString(36).padStart(9, '0');
  return `${prefix}-${time}-${randomBytes(8).toString('hex')}`;
}
