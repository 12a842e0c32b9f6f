import { describe, expect, test } from 'vitest';
import { fakePool, type FakePool } from '../support/fake-pool.ts';
import { settle } from '../support/manual-clock.ts';

const CONFIG = { min: 1, max: 2, restSeconds: 60, heartbeatSeconds: 10, leaseSeconds: 3600 };

/** A pool whose one sandbox counts how often it was paused. */
async function restingPool(rest: () => Promise<void> = () => Promise.resolve()): Promise<{ fake: FakePool; rests: () => number }> {
  let rests = 0;
  const fake = await fakePool({ config: CONFIG });
  Object.assign(fake.provider.sandbox('s-1'), {
    capabilities: {
      rest: () => {
        rests += 1;
        return rest();
      },
    },
  });
  return { fake, rests: () => rests };
}

describe('a sandbox that is idle for a while', () => {
  test('is paused once, no longer pinged, and granted like any other', async () => {
    const { fake, rests } = await restingPool();
    await using _ = fake;
    await fake.clock.advance(59_000);
    expect(rests()).toBe(0);
    const pinged = fake.occupants.get('s-1')?.pinged;
    expect(pinged).toBeGreaterThan(0);
    await fake.clock.advance(600_000);
    expect(rests()).toBe(1);
    expect(fake.occupants.get('s-1')?.pinged).toBe(pinged);
    const lease = await fake.lease();
    expect(lease.sandbox.id).toBe('s-1');
  });

  test('is paused again after it was given back', async () => {
    const { fake, rests } = await restingPool();
    await using _ = fake;
    await fake.clock.advance(61_000);
    const lease = await fake.lease();
    await lease[Symbol.asyncDispose]();
    await fake.clock.advance(61_000);
    expect(rests()).toBe(2);
  });

  test('is replaced when it cannot be paused', async () => {
    const { fake } = await restingPool(() => Promise.reject(new Error('no pauses on this plan')));
    await using _ = fake;
    await fake.clock.advance(61_000);
    await settle();
    expect(fake.provider.alive.has(fake.provider.sandbox('s-2').id)).toBe(true);
    expect(fake.pool.state().totals).toMatchObject({ died: 1, created: 2 });
  });
});
