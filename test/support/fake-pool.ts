import { parseSandboxId } from '../../src/kernel/ids.ts';
import { FRESH, type Exposure, type PastExposure } from '../../src/pool/ports/exposure.ts';
import type { Lease } from '../../src/pool/ports/lease.ts';
import type { Occupant } from '../../src/pool/members/occupant.ts';
import { Pool } from '../../src/pool/pool.ts';
import type { PoolConfig } from '../../src/pool/planning/pool-config.ts';
import type { Sandbox } from '../../src/pool/ports/sandbox.ts';
import { FAKE_TEMPLATE, FakeProvider } from './fake-provider.ts';
import { ManualClock } from './manual-clock.ts';

/** A pool in which nothing happens by itself for a long time; tests change what they are about. */
export const QUIET: PoolConfig = {
  min: 0,
  max: 4,
  warm: 0,
  creationConcurrency: 4,
  creationsPerSecond: 1000,
  readySeconds: 60,
  maxCreationFailures: 3,
  idleSeconds: 100_000,
  heartbeatSeconds: 100_000,
  leaseSeconds: 100_000,
  episodesPerSandbox: 1_000_000,
};

export const DATA: Exposure = { kind: 'data', principal: 'somebody' };

export class FakeOccupant implements Occupant {
  readonly gone: Promise<string>;
  readonly leave: (reason: string) => void;
  /** What becomes of a ping: answered, refused or left without an answer. */
  pings: 'answered' | 'refused' | 'unanswered' = 'answered';
  pinged = 0;
  reusable = true;
  past: PastExposure = FRESH;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.gone = promise;
    this.leave = resolve;
  }

  ping(): Promise<void> {
    this.pinged++;
    switch (this.pings) {
      case 'answered':
        return Promise.resolve();
      case 'refused':
        return Promise.reject(new Error('who is there?'));
      case 'unanswered':
        return new Promise(() => undefined);
    }
  }

  isReusable(): boolean {
    return this.reusable;
  }
}

export interface FakePool extends AsyncDisposable {
  readonly pool: Pool<FakeOccupant>;
  readonly provider: FakeProvider;
  readonly clock: ManualClock;
  /** What the pool said of creations that fail. */
  readonly failing: readonly unknown[];
  readonly occupants: Map<string, FakeOccupant>;
  /** Acquires and lets everything settle; the lease must be there by then. */
  lease(): Promise<Lease<FakeOccupant>>;
}

export interface FakePoolOptions {
  readonly config?: Partial<PoolConfig>;
  readonly prepare?: (provider: FakeProvider) => void;
  readonly warmUp?: (sandbox: Sandbox, signal: AbortSignal) => Promise<FakeOccupant>;
}

/** A pool over the fake provider on a manual clock. Disposing it checks that nothing is left behind. */
export async function fakePool({ config = {}, prepare, warmUp }: FakePoolOptions = {}): Promise<FakePool> {
  const provider = new FakeProvider();
  const clock = new ManualClock();
  const occupants = new Map<string, FakeOccupant>();
  const failing: unknown[] = [];
  let created = 0;
  prepare?.(provider);
  const pool = new Pool<FakeOccupant>({
    provider,
    template: FAKE_TEMPLATE,
    config: { ...QUIET, ...config },
    clock,
    warmUp: warmUp ?? ((sandbox) => Promise.resolve(occupy(occupants, sandbox))),
    onFailing: (error) => failing.push(error),
    newSandboxId: () => parseSandboxId(`s-${++created}`),
  });
  await clock.advance(0);
  return {
    pool,
    provider,
    clock,
    failing,
    occupants,
    async lease() {
      const waiting = pool.acquire(DATA, new AbortController().signal);
      await clock.advance(10);
      return await waiting;
    },
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      const left = [...provider.alive.keys()];
      if (left.length > 0 || clock.pending > 0) throw new Error(`left behind: sandboxes ${left.join(', ')}; ${clock.pending} timers`);
    },
  };
}

function occupy(occupants: Map<string, FakeOccupant>, sandbox: Sandbox): FakeOccupant {
  const occupant = new FakeOccupant();
  occupants.set(sandbox.id, occupant);
  return occupant;
}
