import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shapeReward, type RewardComponents } from '../../../src/agents/arena/reward.ts';
import { DEFAULT_TERMS, type RewardTerms } from '../../../src/agents/tasks/arena-rules.ts';

const share = fc.double({ min: 0, max: 1, noNaN: true });
const terms: fc.Arbitrary<RewardTerms> = fc.record({
  base: fc.double({ min: 0.01, max: 100, noNaN: true }),
  style: share,
  time: share,
  errors: share,
  shaping: fc.constantFrom('full', 'none'),
});
const shaping = fc.record({
  style: fc.option(fc.double({ min: -1, max: 1, noNaN: true })),
  time: fc.option(share),
  errors: share,
});
/** Tests that pass, of all. */
const counts = fc.integer({ min: 1, max: 200 }).chain((total) => fc.tuple(fc.integer({ min: 0, max: total }), fc.constant(total)));

function components(passed: number, total: number, others: Partial<RewardComponents>): RewardComponents {
  return { gate: 1, core: passed / total, coreStep: 1 / total, style: null, time: null, errors: 0, ...others };
}

describe('a reward', () => {
  it('is in [0, base], 0 for an unchanged workspace and a closed gate, and base for the solution', () => {
    fc.assert(
      fc.property(counts, shaping, terms, ([passed, total], others, weights) => {
        const reward = shapeReward(components(passed, total, others), weights);
        expect(reward).toBeGreaterThanOrEqual(0);
        expect(reward).toBeLessThanOrEqual(weights.base);
        expect(shapeReward(components(0, total, others), weights)).toBe(0);
        expect(shapeReward(components(passed, total, { ...others, gate: 0 }), weights)).toBe(0);
        expect(shapeReward(components(total, total, {}), weights)).toBe(weights.base);
      }),
    );
  });

  it('grows with the core, and all shaping together is less than half of a test', () => {
    fc.assert(
      fc.property(counts, shaping, terms, ([passed, total], some, weights) => {
        const pure = (weights.base * passed) / total;
        const shaped = shapeReward(components(passed, total, some), weights);
        expect(Math.abs(shaped - pure)).toBeLessThan(weights.base / total / 2);
        expect(shapeReward(components(passed, total, some), { ...weights, shaping: 'none' })).toBeCloseTo(pure, 10);
      }),
    );
  });

  it('is higher for one more test, whatever style, time and errors say', () => {
    fc.assert(
      fc.property(counts, shaping, shaping, terms, ([passed, total], some, others, weights) => {
        fc.pre(passed < total);
        const fewer = shapeReward(components(passed, total, some), weights);
        expect(shapeReward(components(passed + 1, total, some), weights)).toBeGreaterThan(fewer);
        expect(shapeReward(components(passed + 1, total, others), weights)).toBeGreaterThan(fewer);
      }),
    );
  });

  it('has the values of the formula', () => {
    expect(shapeReward(components(3, 4, {}), DEFAULT_TERMS)).toBe(0.75);
    // A seventh of a quarter is less than five hundredths.
    expect(shapeReward(components(3, 4, { errors: 1 }), DEFAULT_TERMS)).toBeCloseTo(0.75 - 1 / 28, 12);
    expect(shapeReward(components(1, 1, { style: -0.5, time: 0.2, errors: 0.1 }), DEFAULT_TERMS)).toBeCloseTo(1 - 0.025 - 0.01 - 0.005, 12);
    expect(shapeReward(components(1, 1, { style: 1 }), { ...DEFAULT_TERMS, base: 2 })).toBe(2);
  });
});
