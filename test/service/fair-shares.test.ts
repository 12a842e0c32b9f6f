import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plan, type Competitor } from '../../src/service/playing/fair-shares.ts';

function wants(id: string, principal: string, wanted: number, priority = 0): Competitor<string> {
  return { id, principal, wanted, priority };
}

function limits(slots: number, competitors: readonly Competitor<string>[], served: Readonly<Record<string, number>> = {}): object {
  return Object.fromEntries(plan({ slots, competitors, served: new Map(Object.entries(served)) }));
}

describe('the slots of a pool', () => {
  it('all go to a single evaluation', () => {
    expect(limits(8, [wants('a', 'alice', 100)])).toEqual({ a: 8 });
  });

  it('are shared between principals, not between evaluations: a batch does not starve a training loop', () => {
    const batch = Array.from({ length: 100 }, (_, i) => wants(`b${i}`, 'batch', 8));
    const shares = limits(8, [...batch, wants('loop', 'loop', 8)]);
    expect(shares).toMatchObject({ loop: 4, b0: 1, b1: 1, b2: 1, b3: 1, b4: 0 });
  });

  it('go to evaluations that can use them: places that one does not need are shared by the others', () => {
    expect(limits(10, [wants('a', 'alice', 1), wants('b', 'bob', 100), wants('c', 'carol', 100)])).toEqual({ a: 1, b: 5, c: 4 });
  });

  it('go to the higher priority of a principal first, and no priority takes from another principal', () => {
    const shares = limits(8, [wants('low', 'alice', 8), wants('high', 'alice', 3, 5), wants('b', 'bob', 8, -5)]);
    expect(shares).toEqual({ high: 3, low: 1, b: 4 });
  });

  it('alternate when there are fewer than principals: the least served come first', () => {
    const three = [wants('a', 'alice', 4), wants('b', 'bob', 4), wants('c', 'carol', 4)];
    expect(limits(2, three, { alice: 10, bob: 30, carol: 20 })).toEqual({ a: 1, b: 0, c: 1 });
  });

  it('are never exceeded or left unused while needed, and no principal has two more than another that needs more', () => {
    const competitor = fc.record({
      principal: fc.constantFrom('alice', 'bob', 'carol', 'dave'),
      priority: fc.integer({ min: -2, max: 2 }),
      wanted: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.nat(40), fc.array(competitor, { maxLength: 12 }), (slots, some) => {
        const competitors = some.map((each, id) => ({ ...each, id }));
        const shares = plan({ slots, competitors, served: new Map() });
        const sum = (of: typeof competitors, what: (each: (typeof competitors)[number]) => number): number =>
          of.reduce((total, each) => total + what(each), 0);
        const given = sum(competitors, ({ id }) => shares.get(id) ?? NaN);
        expect(given).toBe(
          Math.min(
            slots,
            sum(competitors, ({ wanted }) => wanted),
          ),
        );
        const principals = [...Map.groupBy(competitors, ({ principal }) => principal).values()].map((own) => ({
          has: sum(own, ({ id }) => shares.get(id) ?? NaN),
          wanted: sum(own, ({ wanted }) => wanted),
        }));
        const most = Math.max(0, ...principals.map(({ has }) => has));
        for (const { has } of principals.filter(({ has, wanted }) => has < wanted)) expect(has).toBeGreaterThanOrEqual(most - 1);
      }),
    );
  });
});
