import { randomBytes } from 'node:crypto';
import { systemClock } from '../../kernel/clock.ts';

/** Creates an unguessable id. Ids of one prefix sort by time of creation. */
export function createTimedId(prefix: string): string {
  const time = systemClock.date().getTime().toString(36).padStart(9, '0');
  return `${prefix}-${time}-${randomBytes(8).toString('hex')}`;
}
