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

describe('the number of episodes in a range', () => {
  it('is what keeps a runner busy for the range time', () => {
    expect(chooseRangeSize(usual)).toBe(100);
    expect(chooseRangeSize({ ...usual, blockMilliseconds: 20 })).toBe(5);
    expect(chooseRangeSize({ ...usual, blockMilliseconds: 5000 })).toBe(1);
  });

  it('is one while the time of an episode is unknown', () => {
    expect(chooseRangeSize({ ...usual, blockMilliseconds: undefined })).toBe(1);
  });

  it('is one at the end, so that no runner has many while others are idle', () => {
    expect(chooseRangeSize({ ...usual, available: 80 })).toBe(10);
    expect(chooseRangeSize({ ...usual, available: 16 })).toBe(2);
    expect(chooseRangeSize({ ...usual, available: 8 })).toBe(1);
    expect(chooseRangeSize({ ...usual, available: 5 })).toBe(1);
    expect(chooseRangeSize({ ...usual, available: 5, blockMilliseconds: 0.001 })).toBe(1);
  });

  it('is none in advance when there are no more episodes than sandboxes', () => {
    expect(chooseRangeSize({ ...usual, available: 8, outstanding: 1 })).toBe(0);
    expect(chooseRangeSize({ ...usual, available: 8, outstanding: 0 })).toBe(1);
  });

  it('is never more than remain, and at least one for an idle runner', () => {
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
