import { describe, expect, it } from 'vitest';
import { WaitingCounts } from '../../src/service/acceptance/quota-gate.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A store in which so many wait, and which remembers how often it was asked. */
function fixture(waiting: number) {
  const clock = new ManualClock();
  const store = { waiting, asked: 0 };
  const ask = (): Promise<number> => {
    store.asked += 1;
    return Promise.resolve(store.waiting);
  };
  return { clock, store, counts: new WaitingCounts({ countWaiting: ask }, clock) };
}

describe('the count of waiting evaluations', () => {
  it('is read once a second far from the limit, and requests are added to it', async () => {
    const { clock, store, counts } = fixture(10);
    expect(await counts.count('pipeline', 1000, 2)).toBe(10);
    expect(await counts.count('pipeline', 1000, 0)).toBe(13);
    expect(await counts.count('pipeline', 1000, 0)).toBe(14);
    expect(store.asked).toBe(1);
    store.waiting = 3;
    await clock.advance(1000);
    expect(await counts.count('pipeline', 1000, 0)).toBe(3);
    expect(store.asked).toBe(2);
  });

  it('is exact from half of the limit on', async () => {
    const { store, counts } = fixture(499);
    expect(await counts.count('pipeline', 1000, 0)).toBe(499);
    store.waiting = 500;
    expect(await counts.count('pipeline', 1000, 0)).toBe(500);
    store.waiting = 20;
    expect(await counts.count('pipeline', 1000, 0)).toBe(20);
    expect(store.asked).toBe(3);
  });

  it('bounds waiting evaluations also under concurrent requests', async () => {
    const { store, counts } = fixture(5);
    const together = [counts.count('pipeline', 1000, 0), counts.count('pipeline', 1000, 1), counts.count('pipeline', 1000, 2)];
    expect(await Promise.all(together)).toEqual([5, 5, 5]);
    // They wait by now.
    store.waiting = 8;
    expect(await counts.count('pipeline', 1000, 0)).toBeGreaterThanOrEqual(8);
    expect(store.asked).toBe(3);
  });

  it('is separate for each principal', async () => {
    const { store, counts } = fixture(5);
    await counts.count('pipeline', 1000, 0);
    store.waiting = 7;
    expect(await counts.count('researcher', 1000, 0)).toBe(7);
  });
});
