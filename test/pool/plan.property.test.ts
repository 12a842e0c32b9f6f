import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Exposure } from '../../src/pool/ports/exposure.ts';
import { getCreationRate } from '../../src/pool/planning/plan.ts';
import type { PoolConfig } from '../../src/pool/planning/pool-config.ts';
import { SimulatedWorld } from './simulated-world.ts';

/** The same cases each time; a failure reports the seed and path that lead to it. */
const RUNS = { seed: 20_260, numRuns: 300 };

const configs: fc.Arbitrary<PoolConfig> = fc
  .record({
    min: fc.nat(5),
    max: fc.integer({ min: 1, max: 12 }),
    warm: fc.nat(4),
    creationConcurrency: fc.integer({ min: 1, max: 5 }),
    creationsPerSecond: fc.constantFrom(0.5, 1, 3, 100),
    readySeconds: fc.constant(60),
    maxCreationFailures: fc.integer({ min: 1, max: 4 }),
    idleSeconds: fc.constantFrom(1, 30),
    restSeconds: fc.constantFrom(undefined, 1, 20),
    heartbeatSeconds: fc.constantFrom(2, 10),
    leaseSeconds: fc.constantFrom(5, 60),
    episodesPerSandbox: fc.constantFrom(1, 3, 1_000),
  })
  .filter(({ min, max }) => min <= max);

const KINDS = [
  'acquire',
  'acquire',
  'leave',
  'release',
  'renew',
  'advance',
  'made',
  'ready',
  'ready',
  'fail',
  'busy',
  'die',
  'answer',
  'reap',
  'reap',
] as const;

const DATA: Exposure = { kind: 'data', principal: 'ann' };
/** Two principals with data, and with code of two suites that one policy in code comes to. */
const WANTED: readonly Exposure[] = ['ann', 'bob'].flatMap((principal): Exposure[] => [
  { kind: 'data', principal },
  { kind: 'code', principal, suite: digestBytes('suite'), checkpoint: undefined },
  { kind: 'code', principal, suite: digestBytes('suite'), checkpoint: digestBytes('policy') },
]);

/** What happens in the world, and to which of those that it can happen to. */
interface Happening {
  readonly kind: (typeof KINDS)[number];
  readonly which: number;
  readonly amount: number;
}

const happenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), which: fc.nat(100), amount: fc.nat(4_000) }),
  { maxLength: 80 },
);

function happen(world: SimulatedWorld, { kind, which, amount }: Happening): void {
  const pick = <T>(from: readonly T[]): readonly T[] => (from.length === 0 ? [] : from.slice(which % from.length).slice(0, 1));
  switch (kind) {
    case 'acquire':
      world.acquire(WANTED[amount % WANTED.length] ?? DATA);
      return;
    case 'leave':
      return pick([...world.waiting.keys()]).forEach((id) => world.waiting.delete(id));
    case 'release':
      return pick(world.inState('leased')).forEach((place) => world.makeIdle(place, place.episodes + (amount % 3)));
    case 'renew':
      return pick(world.inState('leased')).forEach((place) => world.renew(place));
    case 'advance':
      world.now += amount;
      return;
    case 'made':
      return pick(world.inState('creating')).forEach((place) => world.made(place));
    case 'busy':
      return pick(world.inState('creating')).forEach((place) => world.refuse(place, amount));
    case 'ready':
      return pick(world.inState('warming')).forEach((place) => world.makeIdle(place));
    case 'fail':
      return pick(world.inState('creating', 'warming')).forEach((place) => world.fail(place));
    case 'die':
      return pick(world.inState('idle', 'leased')).forEach((place) => world.move(place, { kind: 'destroying', reason: 'died' }));
    case 'answer':
      return pick(world.inState('idle')).forEach((place) => world.answer(place));
    case 'reap':
      return pick(world.inState('destroying')).forEach((place) => world.reap(place));
  }
}

function worldAfter(config: PoolConfig, events: readonly Happening[]): SimulatedWorld {
  const world = new SimulatedWorld(config);
  world.act();
  for (const event of events) {
    happen(world, event);
    world.act();
  }
  return world;
}

describe('whatever happens,', () => {
  test('each action respects bounds, concurrency, order and states, and an executed plan leaves nothing to do', () => {
    // The world checks each action as it takes it.
    fc.assert(
      fc.property(configs, happenings, (config, events) => {
        expect(worldAfter(config, events).sandboxes.size).toBeLessThanOrEqual(config.max);
      }),
      RUNS,
    );
  });

  test('creation is never faster than the rate', () => {
    fc.assert(
      fc.property(configs, happenings, (config, events) => {
        const { createdAt } = worldAfter(config, events);
        const { burst, perSecond } = getCreationRate(config);
        createdAt.forEach((from, i) => {
          createdAt.slice(i).forEach((to, more) => expect(more + 1).toBeLessThanOrEqual(burst + ((to - from) / 1000) * perSecond + 1e-6));
        });
      }),
      RUNS,
    );
  });

  test('every waiter is served once the provider works, by the alarms that the planner sets itself', () => {
    fc.assert(
      fc.property(configs, happenings, (config, events) => {
        const world = worldAfter(config, events);
        const refusedBefore = world.refused;
        for (let round = 0; world.waiting.size > 0; round++) {
          expect(round, `${world.waiting.size} still wait`).toBeLessThan(300);
          world.goWell();
        }
        expect(world.refused).toBe(refusedBefore);
      }),
      RUNS,
    );
  });

  test('the longest waiter is served, however many later ones could use the sandboxes', () => {
    fc.assert(
      fc.property(configs, happenings, fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }), (config, events, crowd) => {
        const world = worldAfter(config, events);
        const longest = world.waiting.keys().next().value ?? world.acquire(DATA);
        for (let round = 0; world.waiting.has(longest); round++) {
          expect(round, 'it still waits').toBeLessThan(300);
          for (const which of crowd) for (let i = 0; i < config.max; i++) world.acquire(WANTED[which] ?? DATA);
          world.goWell();
        }
      }),
      { ...RUNS, numRuns: 100 },
    );
  });

  test('every waiter is served or refused, even if creation always fails and other sandboxes are idle', () => {
    fc.assert(
      fc.property(configs, happenings, (config, events) => {
        const world = worldAfter(config, events);
        for (let round = 0; world.waiting.size > 0; round++) {
          expect(round, `${world.waiting.size} still wait`).toBeLessThan(300);
          world.goBadly();
        }
      }),
      { ...RUNS, numRuns: 100 },
    );
  });

  test('without events the pool settles at its target', () => {
    fc.assert(
      fc.property(configs, happenings, (config, events) => {
        const world = worldAfter(config, events);
        for (let round = 0; round < 300; round++) world.goWell();
        expect(world.inState('idle')).toHaveLength(Math.min(config.max, Math.max(config.min, config.warm)));
        expect(world.sandboxes.size).toBe(world.inState('idle').length);
      }),
      { ...RUNS, numRuns: 50 },
    );
  });

  test.each(['draining', 'closing'] as const)(
    'once it is %s, everything created is destroyed and everyone who waits is refused',
    (phase) => {
      fc.assert(
        fc.property(configs, happenings, (config, events) => {
          const world = worldAfter(config, events);
          world.phase = phase;
          world.act();
          expect(world.waiting.size).toBe(0);
          expect(world.inState('leased').length === 0 || phase === 'draining').toBe(true);
          expect(world.inState('creating', 'warming', 'idle')).toEqual([]);
          world.goWell();
          world.goWell();
          expect(world.sandboxes.size).toBe(0);
          expect(world.gone.size).toBe(world.createdAt.length);
        }),
        RUNS,
      );
    },
  );
});
