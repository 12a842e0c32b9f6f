import { describe, expect, it } from 'vitest';
import type { Slot } from '../../src/orchestrator/run/slot-share.ts';
import { Workers } from '../../src/orchestrator/run/workers.ts';

const NEVER = new AbortController().signal;

function place(): Slot {
  const nothing = { [Symbol.dispose]: () => undefined };
  return { ...nothing, recalled: NEVER, offerSlot: () => nothing };
}

describe('workers', () => {
  it('works whole if no other evaluation shares', async () => {
    const workers = new Workers(undefined);
    const worker = [workers.add(), workers.add()];
    await expect(workers.takeSlot(NEVER)).resolves.toBeUndefined();
    expect([workers.size, workers.atWork]).toEqual([2, 2]);
    worker[0]?.[Symbol.dispose]();
    expect([workers.size, workers.atWork]).toEqual([1, 1]);
  });

  it('does not count a caller as working while it waits for a sandbox of others', async () => {
    const granted = Promise.withResolvers<Slot>();
    const workers = new Workers({ take: () => granted.promise, standBack: () => place() });
    workers.add();
    workers.add();
    const taken = workers.takeSlot(NEVER);
    expect([workers.size, workers.atWork]).toEqual([2, 1]);
    granted.resolve(place());
    await taken;
    expect([workers.size, workers.atWork]).toEqual([2, 2]);
  });

  it('no longer counts a caller that gives up as waiting', async () => {
    const workers = new Workers({ take: () => Promise.reject(new Error('it is over')), standBack: () => place() });
    workers.add();
    await expect(workers.takeSlot(NEVER)).rejects.toThrow('it is over');
    expect(workers.atWork).toBe(1);
  });
});
