import { describe, expect, it } from 'vitest';
import { ActingTime } from '../../../src/agents/acting/program/act-program.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('the time of a program', () => {
  it('runs while it acts, stands still while its model thinks, and is over once', async () => {
    const clock = new ManualClock();
    let over = 0;
    using time = new ActingTime(clock, 10, () => (over += 1));
    await clock.advance(4000);
    time.stand();
    await clock.advance(3_600_000);
    time.go();
    await clock.advance(5999);
    expect([over, time.spentSeconds]).toEqual([0, 9.999]);
    await clock.advance(1);
    expect(over).toBe(1);
    time.stand();
    expect([clock.pending, time.spentSeconds]).toEqual([0, 10]);
  });
});
