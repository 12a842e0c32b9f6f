import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { LeaseLostError, type Lease } from '../../src/pool/ports/lease.ts';
import { DATA, fakePool, type FakeOccupant, type FakePool } from '../support/fake-pool.ts';
import { settle } from '../support/manual-clock.ts';

const RUNS = { seed: 20_261, numRuns: 150 };
const KINDS = [
  'acquire',
  'acquire',
  'acquire',
  'leave',
  'release',
  'release',
  'discard',
  'renew',
  'count',
  'die',
  'advance',
  'hold',
  'break',
  'mend',
] as const;

interface Happening {
  readonly kind: (typeof KINDS)[number];
  readonly which: number;
}

const happenings: fc.Arbitrary<Happening[]> = fc.array(fc.record({ kind: fc.constantFrom(...KINDS), which: fc.nat(100) }), {
  maxLength: 60,
});

const configs = fc.record({
  max: fc.integer({ min: 1, max: 4 }),
  warm: fc.nat(2),
  leaseSeconds: fc.constant(5),
  heartbeatSeconds: fc.constant(3),
  idleSeconds: fc.constant(4),
  episodesPerSandbox: fc.constant(3),
  creationConcurrency: fc.integer({ min: 1, max: 3 }),
});

/** Holders with good memories and bad manners: they keep every lease they ever had and go on using it. */
class Holders {
  readonly #fake: FakePool;
  readonly leases: Lease<FakeOccupant>[] = [];
  readonly #given = new Set<Lease<FakeOccupant>>();
  readonly #waiting = new Set<AbortController>();
  readonly settled: Promise<void>[] = [];

  constructor(fake: FakePool) {
    this.#fake = fake;
  }

  inForce(): Lease<FakeOccupant>[] {
    return this.leases.filter((lease) => !this.#given.has(lease) && !lease.signal.aborted);
  }

  async happen({ kind, which }: Happening): Promise<void> {
    const { provider, clock } = this.#fake;
    const lease = this.leases[which % Math.max(1, this.leases.length)];
    switch (kind) {
      case 'acquire':
        return this.#acquire();
      case 'leave':
        return [...this.#waiting].slice(which % 3).forEach((waiter) => waiter.abort(new Error('left')));
      case 'release':
        if (lease !== undefined) await this.#give(lease, () => lease[Symbol.asyncDispose]());
        return;
      case 'discard':
        if (lease !== undefined) await this.#give(lease, async () => lease.discard('no good'));
        return;
      case 'renew':
        return this.#use(lease, (held) => held.renew());
      case 'count':
        return this.#use(lease, (held) => held.countEpisodes(1));
      case 'die':
        return [...provider.alive.values()]
          .slice(which % 4)
          .slice(0, 1)
          .forEach((sandbox) => sandbox.die());
      case 'advance':
        return clock.advance(which * 40);
      case 'hold':
        provider.holdCreations = true;
        return;
      case 'break':
        provider.failCreation = new InfrastructureError('fake.broken', 'broken');
        return;
      case 'mend':
        provider.failCreation = undefined;
        return provider.releaseCreations();
    }
  }

  #acquire(): void {
    const waiter = new AbortController();
    this.#waiting.add(waiter);
    const acquired = this.#fake.pool.acquire(DATA, waiter.signal).then(
      (lease) => void this.leases.push(lease),
      (error: unknown) => assert(error instanceof Error),
    );
    this.settled.push(acquired.finally(() => this.#waiting.delete(waiter)));
  }

  /** A lease that is not in force can be given back as often as one likes: nothing changes. */
  async #give(lease: Lease<FakeOccupant>, give: () => Promise<void>): Promise<void> {
    const stale = !this.inForce().includes(lease);
    const before = this.#fake.pool.state();
    await give();
    this.#given.add(lease);
    if (stale) assert.deepEqual(this.#fake.pool.state(), before);
  }

  #use(lease: Lease<FakeOccupant> | undefined, use: (lease: Lease<FakeOccupant>) => void): void {
    if (lease === undefined) return;
    if (this.inForce().includes(lease)) use(lease);
    else assert.throws(() => use(lease), LeaseLostError);
  }
}

test('whatever holders, sandboxes and the provider do: one holder a sandbox, no stale holder changes anything, and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(configs, happenings, async (config, events) => {
      const fake = await fakePool({ config });
      const holders = new Holders(fake);
      for (const event of events) {
        await holders.happen(event);
        await settle();
        const inForce = holders.inForce();
        expect(new Set(inForce.map(({ sandbox }) => sandbox.id)).size).toBe(inForce.length);
        expect(fake.pool.state().sandboxes.leased).toBe(inForce.length);
        expect(fake.provider.peak).toBeLessThanOrEqual(config.max);
      }
      await fake[Symbol.asyncDispose]();
      await Promise.all(holders.settled);
      const { totals, waiting } = fake.pool.state();
      expect({ waiting, destroyed: totals.destroyed, abandoned: totals.abandoned }).toEqual({
        waiting: 0,
        destroyed: totals.created,
        abandoned: 0,
      });
      expect(holders.inForce()).toEqual([]);
    }),
    RUNS,
  );
});
