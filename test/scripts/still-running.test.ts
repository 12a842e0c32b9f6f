import { expect, test } from 'vitest';
import { tellStillRunning } from '../../scripts/still-running.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('what takes long tells every 15 seconds for how long, until it has ended', async () => {
  const clock = new ManualClock();
  const told: number[] = [];
  const beats = tellStillRunning((seconds) => told.push(seconds), clock);
  await clock.advance(46_000);
  expect(told).toEqual([15, 30, 45]);
  beats[Symbol.dispose]();
  await clock.advance(60_000);
  expect(told).toEqual([15, 30, 45]);
  expect(clock.pending).toBe(0);
});
