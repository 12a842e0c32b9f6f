import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CreationHistory,
  type CreationPace,
  FREE_PACE,
  slowDown,
  SLOWEST_PER_SECOND,
  speedUp,
} from '../../src/pool/planning/creation-history.ts';
import { ProviderBusyError } from '../../src/pool/ports/provider-busy.ts';
import { DATA, fakePool } from '../support/fake-pool.ts';

const RUNS = { seed: 20_261, numRuns: 300 };
const rates = fc.double({ min: 0.05, max: 100, noNaN: true });
/** In milliseconds: the time that passes, then what the service says; undefined: it took the creation. */
const answers = fc.array(fc.record({ passes: fc.nat(60_000), retryAfterMs: fc.option(fc.nat(60_000), { nil: undefined }) }));

function after(
  perSecond: number,
  said: readonly { passes: number; retryAfterMs: number | undefined }[],
): { pace: CreationPace; now: number } {
  let [pace, now] = [FREE_PACE, 0];
  for (const { passes, retryAfterMs } of said) {
    now += passes;
    pace = retryAfterMs === undefined ? speedUp(pace, perSecond) : slowDown(pace, perSecond, now, retryAfterMs);
  }
  return { pace, now };
}

describe('the pace of creation', () => {
  test('is never above the configured rate, and never so slow that it stands still', () => {
    fc.assert(
      fc.property(rates, answers, (perSecond, said) => {
        const { pace } = after(perSecond, said);
        const inForce = Math.min(perSecond, pace.perSecond);
        expect(pace.perSecond === Infinity || pace.perSecond === inForce).toBe(true);
        expect(inForce).toBeGreaterThanOrEqual(Math.min(perSecond, SLOWEST_PER_SECOND));
      }),
      RUNS,
    );
  });

  test('is halved by a refusal, and creation pauses for as long as the service asked', () => {
    fc.assert(
      fc.property(rates, answers, fc.nat(60_000), (perSecond, said, retryAfterMs) => {
        const { pace, now } = after(perSecond, said);
        const slowed = slowDown(pace, perSecond, now, retryAfterMs);
        const half = Math.min(perSecond, pace.perSecond) / 2;
        expect(slowed.perSecond).toBe(Math.min(perSecond, Math.max(SLOWEST_PER_SECOND, half)));
        expect(slowed.pausedUntil).toBeGreaterThanOrEqual(now + retryAfterMs);
        expect(slowed.pausedUntil).toBeGreaterThan(now);
      }),
      RUNS,
    );
  });

  test('returns to the configured rate when the service accepts everything', () => {
    fc.assert(
      fc.property(rates, answers, (perSecond, said) => {
        let { pace } = after(perSecond, said);
        for (let taken = 0; pace.perSecond < Infinity; taken++) {
          expect(taken).toBeLessThan(perSecond / 0.1 + 2);
          pace = speedUp(pace, perSecond);
        }
        expect(pace.refusals).toBe(0);
      }),
      RUNS,
    );
  });
});

describe('a service that is busy', () => {
  test('slows the pool down once for all creations that were under way together', () => {
    const history = new CreationHistory({ perSecond: 8, burst: 8 }, 0);
    history.onBegun(8, 0);
    for (let i = 0; i < 8; i++) history.onRefused(0, new Error('busy'), 10 + i);
    expect(history.rate.perSecond).toBe(4);
    history.onRefused(500, new Error('busy'), 600);
    expect(history.rate.perSecond).toBe(2);
  });

  test('refuses no waiter, however long it lasts, and reports the reason in the state', async () => {
    await using fake = await fakePool({ config: { maxCreationFailures: 1 } });
    const busy = new ProviderBusyError('e2b.busy', 'too many sandboxes');
    fake.provider.create = () => Promise.reject(busy);
    const waiting = fake.pool.acquire(DATA, new AbortController().signal);
    await fake.clock.advance(3_600_000);
    expect(fake.pool.state()).toMatchObject({
      waiting: 1,
      totals: { failed: 0, created: 0 },
      lastErrors: { creation: 'too many sandboxes' },
    });
    Reflect.deleteProperty(fake.provider, 'create');
    await fake.clock.advanceFor(waiting, 120_000, 100);
    expect(fake.pool.state()).toMatchObject({ waiting: 0, totals: { created: 1, leases: 1 } });
  });
});
