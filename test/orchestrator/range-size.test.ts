import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseRangeSize, type RangeSituation } from '../../src/orchestrator/arm/range-size.ts';

const usual: RangeSituation = {
  available: 100_000,
  sandboxes: 8,
  blockMilliseconds: 1,
  rangeMilliseconds: 100,
  outstanding: 0,
  most: 4096,
};

describe('how many episodes travel together', () => {
  it('as many as keep a runner busy for the range time', () => {
    expect(chooseRangeSize(usual)).toBe(100);
    expect(chooseRangeSize({ ...usual, blockMilliseconds: 20 })).toBe(5);
    expect(chooseRangeSize({ ...usual, blockMilliseconds: 5000 })).toBe(1);
  });

  it('a single one while the time of an episode is unknown', () => {
    expect(chooseRangeSize({ ...usual, blockMilliseconds: undefined })).toBe(1);
  });

  it('single ones at the tail, however short, so that no runner sits on a heap while others idle', () => {
    expect(chooseRangeSize({ ...usual, available: 80 })).toBe(10);
    expect(chooseRangeSize({ ...usual, available: 16 })).toBe(2);
    expect(chooseRangeSize({ ...usual, available: 8 })).toBe(1);
    expect(chooseRangeSize({ ...usual, available: 5 })).toBe(1);
    expect(chooseRangeSize({ ...usual, available: 5, blockMilliseconds: 0.001 })).toBe(1);
  });

  it('none ahead when there are no more episodes than sandboxes', () => {
    expect(chooseRangeSize({ ...usual, available: 8, outstanding: 1 })).toBe(0);
    expect(chooseRangeSize({ ...usual, available: 8, outstanding: 0 })).toBe(1);
  });

  it('never more than there are, and at least one for a runner that has nothing to do', () => {
    fc.assert(
      fc.property(
        fc.record({
          available: fc.nat({ max: 1e6 }),
          sandboxes: fc.integer({ min: 1, max: 5000 }),
          blockMilliseconds: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined }),
          rangeMilliseconds: fc.integer({ min: 1, max: 10_000 }),
          outstanding: fc.nat({ max: 2 }),
          most: fc.integer({ min: 1, max: 4096 }),
        }),
        (situation) => {
          const size = chooseRangeSize(situation);
          expect(size).toBeLessThanOrEqual(situation.available);
          const least = situation.outstanding === 0 && situation.available > 0 ? 1 : 0;
          expect(size).toBeGreaterThanOrEqual(least);
          expect(size).toBeLessThanOrEqual(Math.ceil(situation.available / situation.sandboxes));
        },
      ),
    );
  });
});
