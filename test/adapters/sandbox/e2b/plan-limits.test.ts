import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/kernel/clock.ts';
import { PRO, type Plan } from '../../../support/e2b/account.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { extent } from '../../../support/full-form.ts';
import { evaluateAtE2b } from './e2b-evaluation.ts';

// Over plain HTTP/1.1, unlike at E2B, each program's output takes a connection of its own; the SDK reads this before its first request.
process.env['E2B_ENVD_RPC_CONNECTIONS'] = '1000';
useRealSockets();

/** A clock that Muster and the service share, on which many seconds pass in one, until a test lets it go as others do. */
class FastClock implements Clock {
  #factor: number;
  #base = { system: systemClock.now(), now: 0 };

  constructor(factor: number) {
    this.#factor = factor;
  }

  now(): number {
    return this.#base.now + (systemClock.now() - this.#base.system) * this.#factor;
  }

  date(): Date {
    return new Date(this.now());
  }

  after(delayMs: number, callback: () => void): Disposable {
    return systemClock.after(delayMs / this.#factor, callback);
  }

  goLikeOthers(): void {
    this.#base = { now: this.now(), system: systemClock.now() };
    this.#factor = 1;
  }
}

const CROWD = extent({ short: 100, full: 300, variable: 'MUSTER_CROWD' });
const LARGE: Plan = { ...PRO, concurrentSandboxes: CROWD };

test(`${CROWD} sandboxes within the Pro plan: all are made, none too early, none is left`, { timeout: 240_000 }, async () => {
  const clock = new FastClock(10);
  const pool = { min: CROWD, creationsPerSecond: PRO.creationsPerSecond, heartbeatSeconds: 3600, leaseSeconds: 3600, readySeconds: 600 };
  const run = await evaluateAtE2b({
    sandboxes: CROWD,
    episodes: 20 * CROWD,
    plan: LARGE,
    clock,
    musterClock: clock,
    pool,
    whenReady: () => clock.goLikeOthers(),
  });
  const { account } = run.simulator;
  expect(run).toMatchObject({ official: expect.any(String), left: 0, pool: { totals: { created: CROWD, failed: 0, died: 0 } } });
  expect(account.createdAt).toHaveLength(CROWD);
  expect(account.mostAtOnce).toBe(CROWD);
  // Requests that bunch up on their way are refused now and then, and asked again. That the pool keeps to its rate plan.property.test.ts shows.
  expect(run.simulator.faults.requests.create).toBe(CROWD + account.refusals);
  const [first = 0, last = 0] = [account.createdAt.at(0), account.createdAt.at(-1)];
  expect(last - first).toBeGreaterThanOrEqual(((CROWD - PRO.creationsPerSecond) / PRO.creationsPerSecond) * 1000 - 1);
});

test.each([true, false])(
  'a pool that is configured above the plan is as fast as the plan, with and without a time to retry in refusals (%s)',
  async (saysRetryAfter) => {
    const clock = new FastClock(20);
    const plan: Plan = { concurrentSandboxes: 20, creationsPerSecond: 1, longestSeconds: 3600, saysRetryAfter };
    const pool = { min: 40, creationsPerSecond: 100, heartbeatSeconds: 36_000, leaseSeconds: 36_000, readySeconds: 600 };
    // Nothing that this machine does is late because the clock runs fast.
    const evaluation = { beginMilliseconds: 3_600_000, loadMilliseconds: 3_600_000 };
    const run = await evaluateAtE2b({ sandboxes: 40, episodes: 400, plan, clock, musterClock: clock, pool, evaluation });
    const { account } = run.simulator;
    expect(run).toMatchObject({ official: expect.any(String), left: 0, pool: { totals: { failed: 0 } } });
    expect(account.refusals).toBeGreaterThan(0);
    expect(account.refusals).toBeLessThan(200);
    expect(account.mostAtOnce).toBeLessThanOrEqual(20);
  },
);
