import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { AsymptoticSequence } from '../../src/aggregation/asymptotic-sequence.ts';
import { Moments } from '../../src/aggregation/moments.ts';

function momentsOf(values: Iterable<number>): Moments {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return moments;
}

const golden = { confidence: 0.95, tightestAt: 500 };

test('ρ² and the half-width at 500 values agree with the golden ones', () => {
  const sequence = new AsymptoticSequence(golden);
  expect(Math.abs(sequence.rhoSquared - 0.0158665939)).toBeLessThan(1e-9);
  expect(Math.abs(sequence.relativeHalfWidth(500) - 0.1357387551)).toBeLessThan(1e-9);
});

test('the interval reaches s·w(n) to either side of the mean, and says what it is', () => {
  const values = Array.from({ length: 100 }, (_, position) => (position * 37) % 100);
  const moments = momentsOf(values);
  const sequence = new AsymptoticSequence(golden);
  // w(100) by the formula, evaluated apart with mpmath.
  const halfWidth = 0.336_406_835_591_982 * Math.sqrt(moments.sumOfSquares / 99);
  expect(sequence.interval(moments)).toMatchObject({
    low: expect.closeTo(49.5 - halfWidth, 9),
    high: expect.closeTo(49.5 + halfWidth, 9),
    confidence: 0.95,
    method: 'asymptotic-sequence',
    guarantee: expect.stringContaining('from 64 episodes on'),
  });
});

test('the half-width falls with every value', () => {
  const counts = fc.integer({ min: 1, max: 1e9 });
  fc.assert(
    fc.property(counts, fc.double({ min: 0.501, max: 0.999999, noNaN: true }), fc.integer({ min: 64, max: 1e6 }), (n, confidence, at) => {
      const sequence = new AsymptoticSequence({ confidence, tightestAt: at });
      expect(sequence.relativeHalfWidth(n + 1)).toBeLessThan(sequence.relativeHalfWidth(n));
    }),
  );
});

test.each([64, 500, 20_000])('beside an interval for a fixed number it is tightest at about %d values', (tightestAt) => {
  const sequence = new AsymptoticSequence({ confidence: 0.95, tightestAt });
  const besideFixed = (count: number): number => sequence.relativeHalfWidth(count) * Math.sqrt(count);
  const there = besideFixed(tightestAt);
  for (const factor of [1 / 16, 1 / 4, 4, 16]) expect(besideFixed(tightestAt * factor)).toBeGreaterThan(1.02 * there);
  for (const factor of [0.9, 1.1]) expect(besideFixed(tightestAt * factor)).toBeGreaterThan(there);
});

test('fewer than 64 values, or a spread that floating point cannot hold, have no interval', () => {
  const sequence = new AsymptoticSequence(golden);
  const values = Array.from({ length: 64 }, (_, position) => position);
  expect(sequence.interval(momentsOf(values.slice(1)))).toBeUndefined();
  expect(sequence.interval(momentsOf(values))).toBeDefined();
  expect(sequence.interval(momentsOf([...values, 1e300, -1e300]))).toBeUndefined();
});

test('options out of their range are refused', () => {
  for (const wrong of [{ confidence: 1 }, { confidence: 0.5 }, { tightestAt: 63 }, { tightestAt: 100.5 }, { tightestAt: Infinity }])
    expect(() => new AsymptoticSequence({ ...golden, ...wrong })).toThrow(RangeError);
});
