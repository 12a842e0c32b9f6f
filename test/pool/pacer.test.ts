import { expect, test } from 'vitest';
import { Pacer } from '../../src/pool/planning/pacer.ts';
import { ManualClock } from '../support/manual-clock.ts';

function pacer(intervalMs: number): { clock: ManualClock; ranAt: number[]; pacer: Pacer } {
  const clock = new ManualClock();
  const ranAt: number[] = [];
  const pacer = new Pacer(
    clock,
    () => intervalMs,
    () => ranAt.push(clock.now()),
  );
  return { clock, ranAt, pacer };
}

test('of several alarms the earliest counts', async () => {
  const { clock, ranAt, pacer: it } = pacer(0);
  it.runAt(100);
  it.runAt(50);
  it.runAt(70);
  await clock.advance(200);
  expect(ranAt).toEqual([50]);
});

test('simultaneous events make one run, and the next waits for the interval', async () => {
  const { clock, ranAt, pacer: it } = pacer(10);
  it.runPaced();
  it.runPaced();
  await clock.advance(3);
  it.runPaced();
  it.runPaced();
  it.runAt(4);
  await clock.advance(100);
  expect(ranAt).toEqual([0, 10]);
});

test('an alarm that is disposed leaves no timer', () => {
  const { clock, pacer: it } = pacer(0);
  it.runAt(1e12);
  it[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});
