import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  LARGEST_RESAMPLE,
  computePercentileEnds,
  countReplicates,
  resampleMeans,
  planResampling,
  computeShrunkenEnds,
} from '../../src/aggregation/resampling/bootstrap.ts';
import { findCells, countDraws, findDistinctValues } from '../../src/aggregation/resampling/counted-resample.ts';
import { createSeededRandom } from '../../src/kernel/seeded-random.ts';

const numbers = fc.array(fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double({ min: -5, max: 5, noNaN: true })), { minLength: 1 });

test('percentile ends cut off equal shares of the replicates in any order', () => {
  const replicates = Array.from({ length: 101 }, (_, position) => 100 - position);
  expect(computePercentileEnds(replicates, 0.9)).toEqual({ low: expect.closeTo(5, 12), high: expect.closeTo(95, 12) });
  expect(computePercentileEnds([...replicates.slice(10), Infinity, Infinity, Infinity], 0.99)).toBeUndefined();
});

test('draws are bounded in all, and so is each resample', () => {
  expect(countReplicates(10)).toBe(1000);
  expect(planResampling([7, 1])).toEqual({ draws: [7, 1], share: 1, replicates: 1000 });
  expect(planResampling([LARGEST_RESAMPLE])).toEqual({ draws: [LARGEST_RESAMPLE], share: 1, replicates: 1000 });
  expect(planResampling([3 * LARGEST_RESAMPLE, LARGEST_RESAMPLE])).toMatchObject({ draws: [1500, 500], share: 0.25, replicates: 1000 });
});

test('a stratum is never missing from a resample, and the share is what is really drawn', () => {
  const { draws, share } = planResampling([99_000, ...Array.from({ length: 1000 }, () => 1)]);
  expect(draws.slice(0, 2)).toEqual([1980, 1]);
  expect(share).toBe(0.0298);
});

test('ends of a resample of a quarter of the values are drawn in by half', () => {
  const replicates = Array.from({ length: 101 }, (_, position) => position);
  expect(computeShrunkenEnds(replicates, 0.9, 45, 0.25)).toEqual({ low: expect.closeTo(25, 12), high: expect.closeTo(70, 12) });
  expect(computeShrunkenEnds(replicates, 0.9, 45, 1)).toEqual(computePercentileEnds(replicates, 0.9));
});

test('every value has the cell of its distinct value', () => {
  fc.assert(
    fc.property(numbers, fc.array(fc.nat(1000)), (all, picks) => {
      // 0 and -0 are one value, though they compare as two.
      const values = all.map((value) => value + 0);
      const sorted = Float64Array.from(values).sort();
      const distinct = findDistinctValues(sorted);
      expect(new Set(distinct).size).toBe(distinct.length);
      const picked = Float64Array.from(picks, (pick) => values[pick % values.length] ?? Number.NaN).sort();
      expect(Array.from(findCells(picked, distinct), (cell) => distinct[cell])).toEqual(Array.from(picked));
    }),
  );
});

test('a resample has the requested number of draws, each value equally likely', () => {
  const cells = Uint32Array.of(0, 2, 2, 3, 5);
  for (const draws of [1, 2, 5, 6]) {
    const counts = new Uint32Array(6);
    countDraws(createSeededRandom('test', draws), cells, draws, counts);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(draws);
    expect([counts[1], counts[4]]).toEqual([0, 0]);
  }
  const counts = new Uint32Array(6);
  countDraws(createSeededRandom('test', 0), cells, 100_001, counts);
  // Five standard deviations of a binomial count with p = 0.2 are 632, with p = 0.4 they are 775.
  for (const [cell, expected] of [20_000, 0, 40_000, 20_000, 0, 20_000].entries())
    expect(Math.abs((counts[cell] ?? 0) - expected)).toBeLessThanOrEqual(expected / 30);
});

test('the two draws from one random number are independent', () => {
  const size = 1000;
  const cells = Uint32Array.from({ length: size }, (_, cell) => cell);
  const random = createSeededRandom('test', 1);
  let [together, draws] = [0, 200_000];
  for (let pair = 0; pair < draws; pair += 1) {
    const counts = new Uint32Array(size);
    countDraws(random, cells, 2, counts);
    if (counts.includes(2)) together += 1;
  }
  // Expected 200, with a deviation of 14.
  expect(Math.abs(together - draws / size)).toBeLessThan(60);
});

test('resampled means spread like the mean of so many values', () => {
  const values = Float64Array.from({ length: 400 }, (_, position) => position % 2);
  const means = resampleMeans(createSeededRandom('test', 2), values, 2000);
  const centre = means.reduce((sum, mean) => sum + mean, 0) / means.length;
  const variance = means.reduce((sum, mean) => sum + (mean - centre) ** 2, 0) / means.length;
  expect(centre).toBeCloseTo(0.5, 2);
  expect(Math.sqrt(variance)).toBeGreaterThan(0.025 * 0.92);
  expect(Math.sqrt(variance)).toBeLessThan(0.025 * 1.08);
});
