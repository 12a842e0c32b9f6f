import { describe, expect, it } from 'vitest';
import type { Place } from '../../src/orchestrator/run/slot-share.ts';
import { Workers } from '../../src/orchestrator/run/workers.ts';

const NEVER = new AbortController().signal;

function place(): Place {
  const nothing = { [Symbol.dispose]: () => undefined };
  return { ...nothing, recalled: NEVER, spare: () => nothing };
}

describe('Staff', () => {
  it('is at work whole where there is nobody to share with', async () => {
    const staff = new Workers(undefined);
    const hired = [staff.hire(), staff.hire()];
    await expect(staff.takePlace(NEVER)).resolves.toBeUndefined();
    expect([staff.size, staff.atWork]).toEqual([2, 2]);
    hired[0]?.[Symbol.dispose]();
    expect([staff.size, staff.atWork]).toEqual([1, 1]);
  });

  it('does not count among those at work who waits for a place that others have', async () => {
    const granted = Promise.withResolvers<Place>();
    const staff = new Workers({ take: () => granted.promise, standBack: () => place() });
    staff.hire();
    staff.hire();
    const taken = staff.takePlace(NEVER);
    expect([staff.size, staff.atWork]).toEqual([2, 1]);
    granted.resolve(place());
    await taken;
    expect([staff.size, staff.atWork]).toEqual([2, 2]);
  });

  it('counts no longer as waiting whoever gives up', async () => {
    const staff = new Workers({ take: () => Promise.reject(new Error('it is over')), standBack: () => place() });
    staff.hire();
    await expect(staff.takePlace(NEVER)).rejects.toThrow('it is over');
    expect(staff.atWork).toBe(1);
  });
});
