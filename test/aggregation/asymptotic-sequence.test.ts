import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { AsymptoticSequence } from '../../src/aggregation/stopping/asymptotic-sequence.ts';
import { computeHalfWidth } from '../../src/aggregation/intervals/intervals.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';

function momentsOf(values: Iterable<number>): Moments {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return moments;
}

const golden = { confidence: 0.95, tightestAt: 500 };

test('ρ² and the half-width at 500 values agree with the golden ones', () => {
  const sequence = new AsymptoticSequence(golden);
  expect(Math.abs(sequence.rhoSquared - 0.0158665939)).toBeLessThan(1e-9);
  expect(Math.abs(sequence.computeRelativeHalfWidth(500) - 0.1357387551)).toBeLessThan(1e-9);
});

test('the interval reaches s·w(n) to either side of the mean, and says what it is', () => {
  const values = Array.from({ length: 100 }, (_, position) => (position * 37) % 100);
  const moments = momentsOf(values);
  const sequence = new AsymptoticSequence(golden);
  // w(100) by the formula, evaluated apart with mpmath.
  const halfWidth = 0.336_406_835_591_982 * Math.sqrt(moments.sumOfSquares / 99);
  expect(sequence.computeInterval(moments)).toMatchObject({
    low: expect.closeTo(49.5 - halfWidth, 9),
    high: expect.closeTo(49.5 + halfWidth, 9),
    confidence: 0.95,
    method: 'asymptotic-sequence',
    guarantee: expect.stringContaining('from 64 episodes on'),
  });
});

test('with bounds it is about mean and deviation after z²/2 pseudo-values on each of them', () => {
  const values = Array.from({ length: 100 }, (_, position) => (position * 37) % 100);
  // By the formulas, evaluated apart with 40 digits: a = z²/2, ñ = 100 + z², μ̃ = (49.5 + a)/ñ and M̃/ñ on [0, 100], and w(100).
  expect(new AsymptoticSequence(golden).computeInterval(momentsOf(values), { low: 0, high: 100 })).toMatchObject({
    low: expect.closeTo(39.454_826_693_394, 9),
    high: expect.closeTo(59.582_166_804_812, 9),
    confidence: 0.95,
    method: 'asymptotic-sequence',
  });
});

test('values that are all the same leave room, with bounds, for those that have not come up yet', () => {
  const sequence = new AsymptoticSequence(golden);
  const same = momentsOf(Array.from({ length: 64 }, () => 0.975));
  const unit = { low: 0, high: 1 };
  expect(sequence.computeInterval(same)).toMatchObject({ low: 0.975, high: 0.975 });
  expect(sequence.computeInterval(same, unit)?.low).toBeLessThan(0.9);
  expect(sequence.computeInterval(same, unit)?.high).toBe(1);
});

test('in the limit bounds make no difference, and the interval never reaches beyond them', () => {
  const sequence = new AsymptoticSequence(golden);
  const bounds = { low: -3, high: 5 };
  const mean = fc.double({ min: -3, max: 5, noNaN: true });
  fc.assert(
    fc.property(mean, fc.double({ min: 0.01, max: 1, noNaN: true }), fc.integer({ min: 64, max: 1000 }), (mean, variance, count) => {
      const at = (n: number) => ({ count: n, mean, sumOfSquares: variance * (n - 1) });
      const bounded = sequence.computeInterval(at(count), bounds);
      expect(bounded?.low).toBeGreaterThanOrEqual(bounds.low);
      expect(bounded?.high).toBeLessThanOrEqual(bounds.high);
      const [far, farBounded] = [sequence.computeInterval(at(1e9)), sequence.computeInterval(at(1e9), { low: -10, high: 10 })];
      if (far === undefined || farBounded === undefined) throw new Error('expected intervals');
      expect(Math.abs(farBounded.low - far.low) / computeHalfWidth(far)).toBeLessThan(0.01);
      expect(Math.abs(farBounded.high - far.high) / computeHalfWidth(far)).toBeLessThan(0.01);
    }),
  );
});

test('the half-width falls with every value', () => {
  const counts = fc.integer({ min: 1, max: 1e9 });
  fc.assert(
    fc.property(counts, fc.double({ min: 0.501, max: 0.999999, noNaN: true }), fc.integer({ min: 64, max: 1e6 }), (n, confidence, at) => {
      const sequence = new AsymptoticSequence({ confidence, tightestAt: at });
      expect(sequence.computeRelativeHalfWidth(n + 1)).toBeLessThan(sequence.computeRelativeHalfWidth(n));
    }),
  );
});

test.each([64, 500, 20_000])('beside an interval for a fixed number it is tightest at about %d values', (tightestAt) => {
  const sequence = new AsymptoticSequence({ confidence: 0.95, tightestAt });
  const besideFixed = (count: number): number => sequence.computeRelativeHalfWidth(count) * Math.sqrt(count);
  const there = besideFixed(tightestAt);
  for (const factor of [1 / 16, 1 / 4, 4, 16]) expect(besideFixed(tightestAt * factor)).toBeGreaterThan(1.02 * there);
  for (const factor of [0.9, 1.1]) expect(besideFixed(tightestAt * factor)).toBeGreaterThan(there);
});

test('fewer than 64 values, or a spread that floating point cannot hold, have no interval', () => {
  const sequence = new AsymptoticSequence(golden);
  const values = Array.from({ length: 64 }, (_, position) => position);
  expect(sequence.computeInterval(momentsOf(values.slice(1)))).toBeUndefined();
  expect(sequence.computeInterval(momentsOf(values))).toBeDefined();
  expect(sequence.computeInterval(momentsOf([...values, 1e300, -1e300]))).toBeUndefined();
});

test('options out of range are refused', () => {
  for (const wrong of [{ confidence: 1 }, { confidence: 0.5 }, { tightestAt: 63 }, { tightestAt: 100.5 }, { tightestAt: Infinity }])
    expect(() => new AsymptoticSequence({ ...golden, ...wrong })).toThrow(RangeError);
});
