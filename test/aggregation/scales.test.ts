import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import type { Interval } from '../../src/aggregation/intervals/intervals.ts';
import type { Stop } from '../../src/aggregation/stopping/stopping-rule.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import { InputError } from '../../src/kernel/errors.ts';
import { seededRandom } from './seeded-random.ts';

const EPISODES = 200;
/** On the unit scale. */
const HALF_WIDTH = 0.1;
/** As a share of the range: an interval in another unit is the same one, but for rounding, which `certified` may carry to the next point of its grid. */
const ROUNDING = 1e-6;
const GRID_STEP = HALF_WIDTH / 40;

const FIXED: Stop = { rule: 'fixed', episodes: EPISODES, confidence: 0.95 };

function rulesFor(halfWidth: number): readonly Stop[] {
  const common = { halfWidth, confidence: 0.95 };
  return [FIXED, { rule: 'certified', ...common }, { rule: 'approximate', ...common }, { rule: 'asymptotic', ...common, tightestAt: 500 }];
}

function intervalOf(stop: Stop, bounds: Bounds | undefined, returns: readonly number[]): Interval | undefined {
  const rule = createStoppingRule(stop, bounds);
  for (const value of returns) rule.fold({ low: value, high: value });
  return rule.computeInterval();
}

/** What the rule makes of the returns, or that it refuses their bounds. */
function answer(stop: Stop, bounds: Bounds, returns: readonly number[]): Interval | 'refused' | undefined {
  try {
    return intervalOf(stop, bounds, returns);
  } catch (error) {
    if (error instanceof InputError && error.code === 'bounds.invalid') return 'refused';
    throw error;
  }
}

const anyUnit = fc.integer({ min: -320, max: 308 }).map((exponent) => Number(`1e${exponent}`));
const anyCase = fc.record({ seed: fc.nat(2 ** 31), unit: anyUnit, offset: fc.oneof(fc.constant(0), anyUnit), which: fc.nat(3) });

function drawn(seed: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: EPISODES }, () => random());
}

/** How far the ends lie from where they should, the farther of the two in multiples of what is allowed; NaN where an interval is missing. */
function misplaced(found: Interval | undefined, expected: Interval | undefined, offset: number, unit: number): number {
  const allowed = ROUNDING + (expected?.method === 'certified' ? GRID_STEP : 0);
  const low = ((found?.low ?? NaN) - offset) / unit - (expected?.low ?? NaN);
  const high = ((found?.high ?? NaN) - offset) / unit - (expected?.high ?? NaN);
  return Math.max(Math.abs(low), Math.abs(high)) / allowed;
}

test('in every unit and at every distance from 0, bounded returns have the interval that they have on the unit scale, or the bounds are refused', () => {
  fc.assert(
    fc.property(anyCase, ({ seed, unit, offset, which }) => {
      const bounds = { low: offset, high: offset + unit };
      const [unitRule, rule] = [rulesFor(HALF_WIDTH)[which] ?? FIXED, rulesFor(HALF_WIDTH * unit)[which] ?? FIXED];
      const returns = drawn(seed).map((value) => Math.min(offset + value * unit, bounds.high));
      const found = answer(rule, bounds, returns);
      if (found === 'refused') return;
      expect(misplaced(found, intervalOf(unitRule, { low: 0, high: 1 }, drawn(seed)), offset, unit)).toBeLessThan(1);
    }),
    { numRuns: 1000 },
  );
});

test('in every unit, returns without bounds have the interval that they have in another one, or none', () => {
  fc.assert(
    fc.property(anyCase, ({ seed, unit, which }) => {
      const [unitRule, rule] =
        which % 2 === 0 ? [FIXED, FIXED] : [rulesFor(HALF_WIDTH)[3] ?? FIXED, rulesFor(HALF_WIDTH * unit)[3] ?? FIXED];
      const returns = drawn(seed).map((value) => value * unit);
      const found = intervalOf(rule, undefined, returns);
      if (found === undefined) return;
      expect(misplaced(found, intervalOf(unitRule, undefined, drawn(seed)), 0, unit)).toBeLessThan(1);
    }),
    { numRuns: 500 },
  );
});

test.each([
  [{ low: 0, high: 1e-300 }, 'another unit'],
  [{ low: -1e300, high: 1e300 }, 'another unit'],
  [{ low: -1e308, high: 1e308 }, 'expected two finite numbers'],
  [{ low: 0, high: 1e61 }, 'another unit'],
  [{ low: 1e15, high: 1e15 + 1 }, 'subtract what they have in common'],
])('bounds %o are refused with the remedy', (bounds, remedy) => {
  for (const stop of rulesFor(0.1)) expect(() => createStoppingRule(stop, bounds)).toThrow(remedy);
});

test('bounds of everyday units are taken, far from 0 too', () => {
  for (const bounds of [
    { low: 0, high: 1e-50 },
    { low: -1e50, high: 1e50 },
    { low: 1e9, high: 1e9 + 2 },
  ])
    expect(() => createStoppingRule({ rule: 'fixed', episodes: 2, confidence: 0.95 }, bounds)).not.toThrow();
});
