import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  computeAdjustedInterval,
  computeClopperPearsonInterval,
  computeStudentInterval,
} from '../../src/aggregation/intervals/intervals.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';

function momentsOf(values: readonly number[]): Moments {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return moments;
}

/** An interval with these ends, to within half of 1e-9. */
function withEnds(low: number, high: number): unknown {
  return expect.objectContaining({ low: expect.closeTo(low, 9), high: expect.closeTo(high, 9) });
}

// References: scipy.stats 1.17.1, binomtest(…).proportion_ci.
test.each([
  [18, 20, 0.95, 0.6830172859809209, 0.9876514728297041],
  [20, 20, 0.95, 0.8315665290169145, 1],
  [0, 20, 0.95, 0, 0.16843347098308548],
  [1, 1000, 0.99, 5.0125292607668415e-6, 0.007406286938353162],
  [900, 1000, 0.9, 0.8830084679036321, 0.9152152323315327],
])('Clopper–Pearson: %d of %d at %d', (successes, trials, confidence, low, high) => {
  expect(computeClopperPearsonInterval({ successes, trials }, confidence)).toEqual(withEnds(low, high));
});

test('two-valued returns have an interval with the promised coverage for every probability of success', () => {
  for (const [trials, confidence] of [
    [20, 0.95],
    [100, 0.95],
    [100, 0.8],
  ] as const) {
    const ends = Array.from({ length: trials + 1 }, (_, successes) => computeClopperPearsonInterval({ successes, trials }, confidence));
    for (let step = 1; step < 1000; step += 1) {
      const p = step / 1000;
      let logTerm = trials * Math.log1p(-p);
      let coverage = 0;
      for (const [successes, { low, high }] of ends.entries()) {
        if (low <= p && p <= high) coverage += Math.exp(logTerm);
        logTerm += Math.log(((trials - successes) / (successes + 1)) * (p / (1 - p)));
      }
      expect(coverage).toBeGreaterThanOrEqual(confidence);
    }
  }
});

test('two-valued returns have their interval in units of the return', () => {
  const bounds = { low: -100, high: 300 };
  expect(computeClopperPearsonInterval({ successes: 0, trials: 20 }, 0.95, bounds)).toEqual(
    withEnds(-100, -100 + 400 * 0.16843347098308548),
  );
});

test('Student t agrees with SciPy', () => {
  expect(computeStudentInterval(momentsOf([3, 1, 4, 1, 5, 9, 2, 6]), 0.95)).toEqual(withEnds(1.5773000431592457, 6.172699956840754));
});

test('the adjusted interval agrees with its formula, evaluated apart with NumPy', () => {
  const values = [3, 1, 4, 1, 5, 9, 2, 6];
  expect(computeAdjustedInterval(momentsOf(values), { low: 0, high: 10 }, 0.95)).toEqual(withEnds(1.7764237862343526, 6.703493234754378));
  const scaled = values.map((value) => value * 50);
  expect(computeAdjustedInterval(momentsOf(scaled), { low: 0, high: 500 }, 0.99)).toEqual(withEnds(40.57595982880219, 397.9271929753523));
});

test('fewer than two values have no interval', () => {
  expect(computeStudentInterval(momentsOf([1]), 0.95)).toBeUndefined();
  expect(computeAdjustedInterval(momentsOf([1]), { low: 0, high: 1 }, 0.95)).toBeUndefined();
});

test('a spread that floating point cannot hold gives no t interval instead of an infinite one', () => {
  expect(computeStudentInterval(momentsOf([1e300, -1e300, 0]), 0.95)).toBeUndefined();
});

test('an interval of bounded returns stays within the bounds and is never of zero width', () => {
  const values = fc.array(fc.double({ min: -3, max: 5, noNaN: true }), { minLength: 2, maxLength: 60 });
  fc.assert(
    fc.property(values, fc.constantFrom(0.8, 0.95, 0.999), (xs, confidence) => {
      const interval = computeAdjustedInterval(momentsOf(xs), { low: -3, high: 5 }, confidence);
      expect(interval?.low).toBeGreaterThanOrEqual(-3);
      expect(interval?.high).toBeLessThanOrEqual(5);
      expect((interval?.high ?? 0) - (interval?.low ?? 0)).toBeGreaterThan(1e-3);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.nat(500), (trials, some) => {
      const successes = Math.min(some, trials);
      const { low, high } = computeClopperPearsonInterval({ successes, trials }, 0.95);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      expect(low).toBeLessThanOrEqual(successes / trials);
      expect(high).toBeGreaterThanOrEqual(successes / trials);
      expect(high - low).toBeGreaterThan(1e-3);
    }),
  );
});

test('every interval says what it promises', () => {
  const bounds = { low: 0, high: 10 };
  const moments = momentsOf([1, 2, 3]);
  const methods = [
    computeStudentInterval(moments, 0.9),
    computeAdjustedInterval(moments, bounds, 0.9),
    computeClopperPearsonInterval({ successes: 1, trials: 2 }, 0.9),
  ];
  expect(methods.map((interval) => interval?.method)).toEqual(['student-t', 'adjusted', 'clopper-pearson']);
  for (const interval of methods) {
    expect(interval?.confidence).toBe(0.9);
    expect(interval?.guarantee).toContain('fixed in advance');
  }
});
