import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeClusteredError } from '../../src/aggregation/intervals/clustered-error.ts';
import { Moments } from '../../src/aggregation/intervals/moments.ts';

const clusters = fc.array(fc.record({ count: fc.integer({ min: 1, max: 50 }), mean: fc.double({ min: -10, max: 10, noNaN: true }) }), {
  minLength: 2,
  maxLength: 20,
});

test('with clusters of one value the error is the plain standard error', () => {
  fc.assert(
    // Values that lie closer together than squares can tell have no standard error: scales.test.ts.
    fc.property(
      fc.array(
        fc.integer({ min: -1e6, max: 1e6 }).map((n) => n / 1e5),
        { minLength: 2 },
      ),
      (values) => {
        const moments = new Moments();
        for (const value of values) moments.add(value);
        const found = computeClusteredError(values.map((mean) => ({ count: 1, mean })));
        expect(found).toBeCloseTo(moments.standardError ?? Number.NaN, 9);
      },
    ),
  );
});

test('with equal values within clusters the error is that of the clusters: repeated values add nothing', () => {
  const rates = [0.1, 0.7, 0.4, 0.9];
  const few = computeClusteredError(rates.map((mean) => ({ count: 1, mean })));
  expect(computeClusteredError(rates.map((mean) => ({ count: 25, mean })))).toBeCloseTo(few ?? Number.NaN, 12);
});

test('the error does not depend on the order of the tasks or an offset, and scales with the values', () => {
  fc.assert(
    fc.property(clusters, (given) => {
      const plain = computeClusteredError(given) ?? Number.NaN;
      expect(computeClusteredError(given.toReversed())).toBeCloseTo(plain, 9);
      expect(computeClusteredError(given.map(({ count, mean }) => ({ count, mean: 8 * mean - 100 })))).toBeCloseTo(8 * plain, 9);
    }),
  );
});

test('one cluster has no error', () => {
  expect(computeClusteredError([{ count: 100, mean: 3 }])).toBeUndefined();
  expect(computeClusteredError([])).toBeUndefined();
});
