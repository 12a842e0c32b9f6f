import * as fc from 'fast-check';
import { mean, sampleVariance } from 'simple-statistics';
import { expect, test } from 'vitest';
import { Moments } from '../../src/aggregation/intervals/moments.ts';
import { seededRandom } from './seeded-random.ts';

function momentsOf(values: readonly number[]): Moments {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return moments;
}

test('mean, sample variance and standard error agree with NumPy', () => {
  const moments = momentsOf([3, 1, 4, 1, 5, 9, 2, 6]);
  expect(moments.mean).toBe(3.875);
  expect(moments.variance).toBeCloseTo(7.553571428571429, 12);
  expect(moments.standardError).toBeCloseTo(0.9716977043151993, 12);
  expect([moments.count, moments.min, moments.max]).toEqual([8, 1, 9]);
});

test('no value has no mean, one value has no variance', () => {
  const none = momentsOf([]);
  expect([none.mean, none.variance, none.standardError, none.standardDeviation, none.min, none.max]).toEqual(Array(6).fill(undefined));
  const one = momentsOf([7]);
  expect([one.mean, one.variance, one.standardError, one.standardDeviation]).toEqual([7, undefined, undefined, undefined]);
});

test('an offset of 1e9 costs the variance no more than the rounding of the values themselves', () => {
  const random = seededRandom(1);
  const spread = Array.from({ length: 10_000 }, () => random() + random() - random());
  const offset = spread.map((value) => value + 1e9);
  const exact = sampleVariance(offset.map((value) => value - 1e9));
  expect(Math.abs((momentsOf(offset).variance ?? 0) / exact - 1)).toBeLessThan(1e-6);
});

test('one pass agrees with two passes', () => {
  const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 200 });
  fc.assert(
    fc.property(values, (xs) => {
      const moments = momentsOf(xs);
      const scale = Math.max(...xs.map(Math.abs), 1e-100);
      expect(Math.abs((moments.mean ?? 0) - mean(xs)) / scale).toBeLessThan(1e-12);
      expect(Math.abs((moments.variance ?? 0) - sampleVariance(xs)) / scale ** 2).toBeLessThan(1e-12);
      const cubes = xs.reduce((sum, x) => sum + (x - mean(xs)) ** 3, 0);
      expect(Math.abs(moments.sumOfCubes - cubes) / scale ** 3).toBeLessThan(1e-9);
      expect(moments.min).toBe(Math.min(...xs));
      expect(moments.max).toBe(Math.max(...xs));
    }),
  );
});

test('a copy is independent of the original', () => {
  const original = momentsOf([1, 2]);
  const copy = original.copy();
  copy.add(9);
  expect([original.count, original.mean, original.max]).toEqual([2, 1.5, 2]);
  expect([copy.count, copy.mean, copy.min, copy.max]).toEqual([3, 4, 1, 9]);
  expect(copy.variance).toBeCloseTo(19, 12);
  expect(copy.sumOfCubes).toBeCloseTo(90, 12);
});
